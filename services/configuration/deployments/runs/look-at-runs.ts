/** Looks at the runs of a host when their timer comes due: fails those whose limit is over, and sets the timer again. */
import type { HostDocument, MessageDocument } from '../../collections.ts';
import { hostQueue } from '../../hosts/queues.ts';
import { firstMessage } from '../../queues/queue.ts';
import type { RunDocument, RunInput, RunPlace } from '../decisions/run-inputs.ts';
import { limitOfRun } from '../decisions/run-limits.ts';
import { byRun, carryOut, takeInput } from './carry-out.ts';
import { limitWait } from './limit-wait.ts';
import { resetLate } from './reset-late.ts';
import type { RunContext } from './run-context.ts';
import { lookBy } from './run-timer.ts';

/** How much the clocks of two machines may differ. */
const clocksDifferMs = 60_000;

export async function lookAtRuns(context: RunContext, of: { host: string; process: string }): Promise<void> {
  const { resources, hosts, messages } = context.collections;
  const running = await resources.find({ where: { host_id: of.host, status: 'IN_PROGRESS' } });
  const ids = running.flatMap(({ run_id: id }) => (id === null ? [] : [id]));
  const [host, queued] = await Promise.all([hosts.get(of.host), messages.getMany(ids)]);
  const first = host && (await firstMessage(context.queues, hostQueue(host, 'requests')));
  const inQueue = new Map(queued.map((message) => [message.id, message]));
  const now = context.queues.now();
  let next = of.process === context.processId ? Infinity : now + clocksDifferMs; // L2
  for (const document of running) {
    const { run_id: run, deployment } = document;
    if (run === null || !deployment?.request) continue;
    const message = inQueue.get(run);
    const isFirst = !message || !first || first.id === run;
    const dueAt = limitOfRun(deployment, { message, isFirst }, context);
    if (dueAt <= now && (await resetLate(context, { run, document }))) continue;
    if (dueAt <= now) {
      await takeInput(context, { run, document }, (current) => dueInput(context, current));
      continue;
    }
    next = Math.min(next, dueAt);
    // Recreate a lost message while its run is in progress.
    if (!message && deployment.waiting_for.length === 0) await carryOut(context, document);
    else if (message && isFirst && host) await limitOfFirst(context, host, message);
  }
  if (next < Infinity) await lookBy(context, of.host, next);
}

/** Starts the limit of a request that became the first when a process died before it noted that. */
async function limitOfFirst(context: RunContext, host: HostDocument, message: MessageDocument): Promise<void> {
  if (message.first_at === undefined) await limitWait(context, hostQueue(host, 'requests'), message);
}

/** Handles the timer of one run, which an older version has set. */
export async function lookAtRun(context: RunContext, runId: string): Promise<void> {
  const document = await byRun(context, runId);
  if (document?.host_id != null) await lookAtRuns(context, { host: document.host_id, process: context.processId });
}

/** Reads where the run is now: its host may have taken the request meanwhile. */
async function dueInput(context: RunContext, { deployment, run_id }: RunDocument): Promise<RunInput> {
  const { hosts, messages } = context.collections;
  const [host, message] = await Promise.all([hosts.get(deployment.host_id), messages.get(run_id ?? '')]);
  const first = host && message ? await firstMessage(context.queues, hostQueue(host, 'requests')) : undefined;
  const place: RunPlace = { host, message, isFirst: !message || !first || first.id === run_id };
  const dueAt = limitOfRun(deployment, place, context);
  return { kind: 'due', place, dueAt, isOver: dueAt <= context.queues.now() };
}
