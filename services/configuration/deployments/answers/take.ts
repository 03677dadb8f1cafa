/** Takes what a host says about a run: one input to the run, and a note when no run waits for it. */
import type { HostProgress, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { ConfigurationResource, HostDocument } from '../../collections.ts';
import { hasEnded, takeInput, type TakenInput } from '../runs/carry-out.ts';
import { noteReboot } from '../runs/note-reboot.ts';
import { dropOwn } from '../runs/queue-changes.ts';
import type { RunContext } from '../runs/run-context.ts';
import { judgeUnknown, noteUnexpected } from './unexpected.ts';

/**
 * Ends a run with the answer of its host. A late, repeated or unknown answer changes no deployment.
 * @param by.document the document of the run, if the caller has read it
 */
export async function takeAnswer(
  context: RunContext,
  by: { host: HostDocument; document?: ConfigurationResource | undefined },
  response: HostResponse,
): Promise<void> {
  const { host } = by;
  const taken = await takeInput(context, { run: response.id, ...by }, { kind: 'answered', host, response });
  if (hasEnded(taken)) return;
  await noteIfUnexpected(context, host, { taken, id: response.id, response });
  // Also remove the request of an obsolete run from the head of the queue, because the host is done with it.
  await dropOwn(context, host, response.id);
}

/** Records that a host has started a script. A repeat and a report that arrives after the answer change nothing. */
export async function takeProgress(context: RunContext, host: HostDocument, progress: HostProgress): Promise<void> {
  const kind = progress.reboot ? 'rebooting' : 'started';
  const taken = await takeInput(context, { run: progress.id, host }, { kind, host, progress });
  // Also after a repeat, which changes nothing: the first attempt may have died before it reached the host.
  if (progress.reboot && taken.document && !taken.decision.unexpected) await noteReboot(context, taken.document);
  await noteIfUnexpected(context, host, { taken, id: progress.id });
}

async function noteIfUnexpected(
  context: RunContext,
  host: HostDocument,
  { taken, id, response }: { taken: TakenInput; id: string; response?: HostResponse },
): Promise<void> {
  const found = taken.document
    ? taken.decision.unexpected
    : await judgeUnknown(context, host, { id, ...(response && { response }) });
  if (found) await noteUnexpected(context, host, { id, found });
}
