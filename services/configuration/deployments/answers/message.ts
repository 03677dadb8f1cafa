/**
 * Messages from hosts: stored in the host's responses queue first, then processed.
 *
 * M1 A message that was accepted and not processed because of a crash is processed at the next start.
 * M2 Processing twice has the effect of processing once: each kind is idempotent by the id that it carries.
 * M3 A message in none of the accepted forms is refused to its sender and kept as a dead letter.
 * M4 No stored message and no dead letter shows a secret that its host was given.
 */
import type { Death } from '@anneal/bus/port.ts';
import { hostMessageRefused, type HostRequest, type HostResponse } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { responsesQueue } from '@anneal/contracts/queues.ts';
import type { ConfigurationResource, DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { factsIn } from '../../hosts/facts.ts';
import { hearOf, type HostContext } from '../../hosts/host.ts';
import { messagesInOrder } from '../../queues/queue.ts';
import { hostQueue } from '../../queues/names.ts';
import { readHostMessage, type HostMessage } from '../../hosts/response-body.ts';
import { openQuoted, sealTexts } from './quoted.ts';
import { answerRun, byRun, finishRun, noteProgress } from '../runs/run.ts';
import type { RunContext } from '../runs/run-context.ts';

export type HostMessageContext = RunContext & HostContext & { readonly responseKeepSeconds: number };

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

/**
 * Receives refused messages and makes them dead letters with their bytes. A replay after a fix of this service
 * succeeds.
 */
export async function handleRefused(
  context: HostMessageContext,
  refused: { host_id: string; host_name: string; queue: string; body: Json },
): Promise<void> {
  const read = readHostMessage(openQuoted(context.service.secrets, refused.body));
  if (!read.ok) {
    const why = read.mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new AnnealError('InvalidMessage', `Host ${refused.host_name} posted to ${refused.queue}: ${why}`, {
      mistakes: read.mistakes,
      details: { host: refused.host_name, host_id: refused.host_id, queue: refused.queue },
    });
  }
  const host = await context.collections.hosts.get(refused.host_id);
  if (host) await handleMessage(context, host, { message: read.message });
}

/**
 * Fails the deployment that an unusable message names, because otherwise it would wait for an answer until its limit.
 */
export async function failNamed(context: HostMessageContext, { message, failure }: Death): Promise<void> {
  const refused = isObject(message?.data) ? message.data : {};
  const { host_id: hostId } = refused;
  const body = openQuoted(context.service.secrets, refused['body'] ?? null);
  const host = typeof hostId === 'string' ? await context.collections.hosts.get(hostId) : undefined;
  const id = isObject(body) && !('hello' in body) && !('progress' in body) ? body['id'] : undefined;
  if (!host || typeof id !== 'string') return;
  await finishRun(context, id, (deployment) =>
    deployment.host_id === host.id ? { status: 'FAILED', reason: failure.message, failure } : undefined,
  );
}

/**
 * Seals each text of an answer that quotes a secret of its run, because the answer stays in the queue. Also returns the
 * runs that it read, by the ids of the messages.
 * @param answers.read the messages by their ids, as `readPosted` returns them
 */
export async function sealQuoted<M extends { readonly id: string; readonly body: Json }>(
  context: HostMessageContext,
  host: HostDocument,
  { posted, read }: { posted: readonly M[]; read: ReadonlyMap<string, HostMessage> },
): Promise<{ sealed: M[]; runs: ReadonlyMap<string, ConfigurationResource> }> {
  const runs = new Map<string, ConfigurationResource>();
  const sealed = await Promise.all(
    posted.map(async (message) => {
      const answer = read.get(message.id);
      if (answer?.kind !== 'response' && answer?.kind !== 'anonymous response') return message;
      const id = 'id' in answer.response ? answer.response.id : await outstanding(context, host);
      const run = id === undefined ? undefined : await byRun(context, id);
      if (run) runs.set(message.id, run);
      const deployment = run?.deployment;
      if (deployment?.host_id !== host.id) return message;
      return { ...message, body: sealTexts(context.service.secrets, [deployment], message.body) };
    }),
  );
  return { sealed, runs };
}

/** Processes the unhandled messages of a host in order. */
export async function handlePosted(
  context: HostMessageContext,
  host: HostDocument,
  posted: readonly MessageDocument[],
): Promise<void> {
  for (const message of posted) {
    if (message.handled !== false) continue;
    const read = readHostMessage(openQuoted(context.service.secrets, message.body));
    if (read.ok) await handleMessage(context, host, { message: read.message });
    const { messages } = context.collections;
    await messages.replace({ ...message, handled: true }, message.version);
  }
}

/**
 * Processes one message of a host.
 * @param posted.run the run that it answers, if the caller has read it
 */
export async function handleMessage(
  context: HostMessageContext,
  host: HostDocument,
  { message, run }: { message: HostMessage; run?: ConfigurationResource | undefined },
): Promise<void> {
  switch (message.kind) {
    case 'hello':
      return hearOf(context, host, message.hello.facts);
    case 'progress':
      return noteProgress(context, host, message.progress);
    case 'response':
      await hearFacts(context, host, message.response);
      await answerRun(context, { host, found: run }, message.response);
      return;
    case 'anonymous response': {
      await hearFacts(context, host, message.response);
      const id = await outstanding(context, host);
      if (id !== undefined) await answerRun(context, { host }, { ...message.response, id });
    }
  }
}

/** Stores the facts before the run ends, so that configs that run afterwards find them. */
async function hearFacts(
  context: HostMessageContext,
  host: HostDocument,
  { facts, outputs }: Pick<HostResponse, 'facts' | 'outputs'>,
): Promise<void> {
  const reported = { ...facts, ...factsIn(outputs) };
  if (Object.keys(reported).length > 0) await hearOf(context, host, reported);
}

/** The request that an answer without an id belongs to: the head of the host's queue. */
async function outstanding(context: HostMessageContext, host: HostDocument): Promise<string | undefined> {
  for await (const head of messagesInOrder(context.queues, hostQueue(host, 'requests'), { pageSize: 1 })) {
    return (head.body as unknown as HostRequest).id;
  }
  // An agent that pops its requests leaves an empty queue. Then the answer belongs to the only run in progress.
  const running = await context.collections.resources.find({ where: { host_id: host.id, status: 'IN_PROGRESS' } });
  return running.length === 1 ? (running[0]?.run_id ?? undefined) : undefined;
}
