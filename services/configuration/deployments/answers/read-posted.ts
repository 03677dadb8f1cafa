/**
 * Reads what hosts post, in all accepted forms.
 *
 * M3 of `posted.ts`: a message in none of the accepted forms is refused, and kept when a host sent it.
 */
import { hostMessageRefused } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { responsesQueue } from '@anneal/contracts/queues.ts';
import type { DeploymentState, HostDocument } from '../../collections.ts';
import { readHostMessage, type HostMessage } from '../../hosts/response-body.ts';
import { hostQueue } from '../../hosts/queues.ts';
import { sealTexts } from '../decisions/quoted.ts';
import { byRun } from '../runs/carry-out.ts';
import type { HostMessageContext } from '../runs/run-context.ts';

/** The sender of messages to the responses of a host. */
export type SentBy =
  /** A user, who may answer for a host. */
  | { readonly kind: 'user' }
  /** The host, or its hook. `run`: the run that the address of the message names. */
  | { readonly kind: 'host'; readonly run?: string | undefined };

/**
 * Reads messages to the responses of a host. Returns them by their ids.
 * @throws AnnealError InvalidRequest that names each mistake in each message. What a host sent becomes dead letters.
 */
export async function readPosted(
  context: HostMessageContext,
  host: HostDocument,
  { messages: posted, sentBy }: { messages: readonly { id: string; body: Json }[]; sentBy: SentBy },
): Promise<ReadonlyMap<string, HostMessage>> {
  const messages = new Map<string, HostMessage>();
  const mistakes: Mistake[] = [];
  const refused: (typeof posted)[number][] = [];
  for (const [index, message] of posted.entries()) {
    const read = readHostMessage(message.body);
    if (read.ok) {
      messages.set(message.id, read.message);
      continue;
    }
    refused.push(message);
    mistakes.push(...read.mistakes.map((each) => ({ ...each, path: `messages[${index}].${each.path}` })));
  }
  if (refused.length === 0) return messages;
  if (sentBy.kind === 'host') await keepRefused(context, host, { refused, run: sentBy.run });
  throw new AnnealError(
    'InvalidRequest',
    `Rejected by queue ${hostQueue(host, 'responses').name}: ${mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
    { mistakes },
  );
}

/** Makes dead letters of messages, by way of a queue whose consumer refuses them (`refused.ts`). */
async function keepRefused(
  context: HostMessageContext,
  host: HostDocument,
  { refused, run }: { refused: readonly { id: string; body: Json }[]; run: string | undefined },
): Promise<void> {
  const { service } = context;
  const letters = refused.map(async ({ id, body }) =>
    service.mint(hostMessageRefused, {
      id: `refused:${id}`,
      subject: host.id,
      project: host.project,
      data: {
        host_id: host.id,
        host_name: host.name,
        queue: hostQueue(host, 'responses').name,
        message_id: id,
        ...(run !== undefined && { run }),
        body: sealTexts(service.secrets, await quotableBy(context, host, body), body),
      },
    }),
  );
  await service.bus.send({ queue: responsesQueue('configuration'), messages: await Promise.all(letters) });
}

/**
 * The deployments whose secrets a message in no accepted form may quote: the one that it names, and all that the host
 * has not answered yet.
 */
async function quotableBy(context: HostMessageContext, host: HostDocument, body: Json): Promise<DeploymentState[]> {
  const open = await context.collections.resources.find({ where: { host_id: host.id, status: 'IN_PROGRESS' } });
  const id = isObject(body) ? body['id'] : undefined;
  const named = typeof id === 'string' ? await byRun(context, id) : undefined;
  return [...open, ...(named ? [named] : [])].flatMap(({ deployment }) =>
    deployment?.host_id === host.id ? [deployment] : [],
  );
}
