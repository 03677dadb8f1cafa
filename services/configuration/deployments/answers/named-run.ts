/** Finds the run that a message of a host answers. */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { HostDocument } from '../../collections.ts';
import { hostQueue } from '../../hosts/queues.ts';
import { isAnonymousAnswer } from '../../hosts/response-body.ts';
import { firstMessage } from '../../queues/queue.ts';
import type { HostMessageContext } from '../runs/run-context.ts';

/** The request that an answer without an id belongs to: the head of the host's queue. */
export async function outstandingRun(context: HostMessageContext, host: HostDocument): Promise<string | undefined> {
  const head = await firstMessage(context.queues, hostQueue(host, 'requests'));
  if (head) return (head.body as unknown as HostRequest).id;
  // An agent that pops its requests leaves an empty queue. Then the answer belongs to the only run in progress.
  const running = await openRuns(context, host);
  return running.length === 1 ? running[0] : undefined;
}

/**
 * The run that a message in no accepted form answers: the one that its address names, that its `id` names, that is
 * outstanding when it has the form without an id, or the only one in progress whose id it contains anywhere.
 * @param refused.body as the host sent it; a text when it is not readable
 */
export async function runNamedBy(
  context: HostMessageContext,
  host: HostDocument,
  { run, body }: { run?: string | undefined; body: Json },
): Promise<string | undefined> {
  if (run !== undefined) return run;
  if (isObject(body)) {
    if ('hello' in body || 'progress' in body) return undefined;
    const { id } = body;
    if (typeof id === 'string') return id;
    if (isAnonymousAnswer(body)) return outstandingRun(context, host);
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (progressText.test(text)) return undefined;
  const named = (await openRuns(context, host)).filter((id) => text.includes(id));
  return named.length === 1 ? named[0] : undefined;
}

/** A report of progress that is not readable, which answers nothing. */
const progressText = /"progress"\s*:\s*"(?:accepted|started)/;

async function openRuns({ collections }: HostMessageContext, host: HostDocument): Promise<string[]> {
  const open = await collections.resources.find({ where: { host_id: host.id, status: 'IN_PROGRESS' } });
  return open.flatMap(({ run_id }) => run_id ?? []);
}
