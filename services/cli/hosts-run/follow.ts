/**
 * Runs a stored config on hosts, at most `batch` at a time, and follows it to its end.
 *
 * W1 Every request can be repeated: config and host decide the id of a deployment. So a lost answer or a restart of the
 *    server runs nothing twice.
 * W2 The server ends every deployment at its time limit, so the wait ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { endedAfter } from '@anneal/client/run-outcome.ts';
import type { Client } from '@anneal/client/connect.ts';
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';

/** The most hosts in one request. */
const mostAtOnce = 100;
/** Time between two looks, in milliseconds: longer for many hosts, because a look reads all their answers. */
const pauseFor = (hosts: number): number => Math.min(2000, Math.max(200, hosts * 2));

export interface CommandRun {
  readonly client: Pick<Client, 'deployments'>;
  readonly config: string;
  /** Ids of hosts. */
  readonly hosts: readonly string[];
  /** Time limit of each deployment. */
  readonly seconds: number;
  readonly batch: number;
  readonly signal: AbortSignal;
  /** Called once for each host, when its deployment has ended. */
  readonly onEnd: (deployment: DeploymentView) => void;
  readonly onOutage: (error: AnnealError) => void;
}

/** Returns the ended deployments. @throws the reason of the abort, after it withdrew what no host had taken */
export async function runOnHosts(run: CommandRun): Promise<DeploymentView[]> {
  const { client, config, hosts, seconds, batch, signal } = run;
  const waiting = [...hosts];
  /** Ids of deployments. */
  const open = new Set<string>();
  const ended: DeploymentView[] = [];
  try {
    for (let asked = 0; ; asked += 1) {
      while (waiting.length > 0 && open.size < batch) {
        const next = waiting.slice(0, Math.min(batch - open.size, mostAtOnce));
        const started = await repeated(run, () => client.deployments.run({ config, hosts: next, seconds }));
        for (const { id } of started) open.add(id);
        waiting.splice(0, next.length);
      }
      if (open.size === 0) return ended;
      await sleep(pauseFor(hosts.length), undefined, { signal });
      const news = { config, endedAfter: endedAfter(ended, asked) };
      for (const each of await repeated(run, () => client.deployments.list(news))) {
        if (each.status === 'IN_PROGRESS' || !open.delete(each.id)) continue;
        ended.push(each);
        run.onEnd(each);
      }
    }
  } catch (error) {
    if (signal.aborted) await withdrawUntaken(run, open);
    throw error;
  }
}

/** Repeats a request while the server is away. */
async function repeated<T>({ signal, onOutage }: CommandRun, request: () => Promise<T>): Promise<T> {
  for (let first = true; ; first = false) {
    signal.throwIfAborted();
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind !== 'retry') throw error;
      if (first) onOutage(error);
      await sleep(1000, undefined, { signal });
    }
  }
}

/** A host that has started goes on to its end. */
async function withdrawUntaken({ client, config }: CommandRun, open: ReadonlySet<string>): Promise<void> {
  const all = await client.deployments.list({ config }).catch(() => []);
  const untaken = all.filter(({ id, answer_state }) => open.has(id) && answer_state !== 'started');
  await Promise.allSettled(untaken.map(({ id }) => client.deployments.delete({ deployment: id })));
}
