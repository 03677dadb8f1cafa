/**
 * Notes the servers that were suspended while no service followed suspensions: before an update from a version that did
 * not. Each start asks the scheduling service once, about the stacks of the hosts that are silent by then.
 */
import { stackList } from '@anneal/contracts/calls/stacks.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import type { HostDocument } from '../collections.ts';
import type { HostContext } from './host.ts';
import { isSilent, noteSuspension } from './silence.ts';

const tryEveryMs = 2_000;
/** The most hosts that are read at once. The answer about their stacks is bounded by it too. */
const atOnce = 500;

/** Begins when a host of a dead machine is silent at the latest, and ends with the first attempt that succeeds. */
export function noteEarlierSuspensions(context: HostContext): { stop(): Promise<void> } {
  const { service, queues, startedAt, silentAfterMs } = context;
  let isDone = false;
  return sweepEvery(tryEveryMs, {
    permission: service.bus.permission,
    async sweep() {
      if (isDone || queues.now() < startedAt + silentAfterMs + tryEveryMs) return;
      await noteAll(context);
      isDone = true;
    },
    onError: (error) =>
      service.log.warn(
        { err: error },
        'suspended servers not asked for; hosts may count as silent; asking again in 2 s',
      ),
  });
}

async function noteAll(context: HostContext): Promise<void> {
  for (let last = ''; ;) {
    const where = { ...isSilent, id: { gt: last } };
    const hosts = await context.collections.hosts.find({ where, orderBy: ['id'], limit: atOnce });
    for (const [project, own] of Map.groupBy(hosts, (host) => host.project)) await noteSome(context, project, own);
    last = hosts.at(-1)?.id ?? '';
    if (hosts.length < atOnce) return;
  }
}

async function noteSome(context: HostContext, project: string, hosts: readonly HostDocument[]): Promise<void> {
  const suspended = await suspendedStacks(context, project, hosts);
  const noted = hosts.filter(({ collector }) => collector && suspended.has(collector.stack_id));
  if (noted.length === 0) return;
  // The service does not know the time. A machine that is switched off asks for work until then.
  for (const { id, last_seen_at: seen, status_since: since } of noted) await noteSuspension(context, id, seen ?? since);
  // A server that was resumed between the answer and the note: its event came before the note. A later one removes it.
  const still = await suspendedStacks(context, project, noted);
  for (const { id, collector } of noted) {
    if (!still.has(collector?.stack_id ?? '')) await noteSuspension(context, id, undefined);
  }
}

async function suspendedStacks(
  { service: { bus, mint } }: HostContext,
  project: string,
  hosts: readonly HostDocument[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(hosts.flatMap(({ collector }) => collector?.stack_id ?? []))];
  if (ids.length === 0) return new Set();
  const data = { project, ids, states: ['SUSPEND_COMPLETE'], limit: atOnce };
  const message = mint(stackList, { project, data });
  const { stacks } = await bus.request({ queue: requestsQueue('scheduling'), call: stackList, message });
  return new Set(stacks.map(({ id }) => id));
}
