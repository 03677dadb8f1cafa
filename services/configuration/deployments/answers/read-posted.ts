/**
 * Reads what hosts post, in all accepted forms.
 *
 * M3 A message in none of the accepted forms is refused to its sender and kept as a dead letter.
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

/**
 * Reads messages of a host. Returns them by their ids.
 * @throws AnnealError InvalidRequest that names each mistake in each message. All messages become dead letters.
 */
export async function readPosted(
  context: HostMessageContext,
  host: HostDocument,
  posted: readonly { id: string; body: Json }[],
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
  const queue = hostQueue(host, 'responses').name;
  const letters = refused.map(async ({ id, body }) => {
    const quotable = await quotableBy(context, host, body);
    return context.service.mint(hostMessageRefused, {
      id: `refused:${id}`,
      subject: host.id,
      project: host.project,
      data: {
        host_id: host.id,
        host_name: host.name,
        queue,
        message_id: id,
        body: sealTexts(context.service.secrets, quotable, body),
      },
    });
  });
  await context.service.bus.send({ queue: responsesQueue('configuration'), messages: await Promise.all(letters) });
  throw new AnnealError(
    'InvalidRequest',
    `Rejected by queue ${queue}: ${mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
    { mistakes },
  );
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
