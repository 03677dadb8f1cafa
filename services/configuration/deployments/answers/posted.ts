/**
 * Messages from hosts: read (`read-posted.ts`), stored in the host's responses queue, and processed. An answer is one input
 * to its run: `take.ts`.
 *
 * M1 A message that was accepted and not processed because of a crash is processed at the next start.
 * M2 Processing twice has the effect of processing once: each kind is idempotent by the id that it carries.
 * M3 A message in none of the accepted forms is refused to its sender. A host cannot repair it: what a host sent is kept as a
 *    dead letter, and the run that it names fails. A user reads the refusal, and nothing is kept.
 * M4 No stored message and no dead letter shows a secret that its host was given.
 */
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { ConfigurationResource, HostDocument, MessageDocument } from '../../collections.ts';
import { factsIn } from '../../hosts/facts.ts';
import { hearOf } from '../../hosts/host.ts';
import { readHostMessage, type HostMessage } from '../../hosts/response-body.ts';
import { hostQueue } from '../../hosts/queues.ts';
import { putMessages } from '../../queues/put.ts';
import { trimAnswers } from '../../queues/trim.ts';
import type { NewMessage } from '../../queues/waiting-puts.ts';
import { openQuoted, sealTexts } from '../decisions/quoted.ts';
import { byRun } from '../runs/carry-out.ts';
import type { HostMessageContext } from '../runs/run-context.ts';
import { outstandingRun } from './named-run.ts';
import { readPosted, type SentBy } from './read-posted.ts';
import { takeAnswer, takeProgress } from './take.ts';

/**
 * Takes the messages of a host. With a claim they are processed first, because the host repeats the call until it has the
 * answer; without one they are stored first, because the sender may not repeat it (M1).
 * @throws AnnealError InvalidRequest that names each mistake in each message; then nothing is taken (M3)
 */
export async function takePosted(
  context: HostMessageContext,
  host: HostDocument,
  posted: {
    client_id: string;
    messages: readonly NewMessage[];
    sentBy: SentBy;
    claimed?: { queue: string; isNew: boolean };
  },
): Promise<void> {
  const { client_id, messages, sentBy, claimed } = posted;
  const queue = hostQueue(host, 'responses');
  const read = await readPosted(context, host, { messages, sentBy });
  const { sealed, runs } = await sealQuoted(context, host, {
    posted: messages.map((each) => keptLonger(context, each)),
    read,
  });
  const put = { queue, client_id, messages: sealed };
  let stored: MessageDocument[];
  if (claimed === undefined) {
    // Process a hello first, because the `up` event of a host carries its facts.
    stored = await putMessages(context.queues, put);
    await handlePosted(context, host, { posted: stored, read });
  } else {
    const quiet = { ...context, queues: { ...context.queues, claimedNext: claimed.queue } };
    for (const { id } of messages) {
      const message = read.get(id);
      if (message) await handleMessage(quiet, host, { message, run: runs.get(id) });
    }
    stored = await putMessages(context.queues, { ...put, handled: true, isNew: claimed.isNew });
  }
  await trimAnswers(context.collections, stored);
  await hearOf(context, host);
  await context.queues.wake(queue);
}

const keptLonger = ({ responseKeepSeconds }: HostMessageContext, message: NewMessage): NewMessage => ({
  ...message,
  ttl: Math.max(message.ttl ?? 0, responseKeepSeconds),
});

/**
 * Seals each text of an answer that quotes a secret of its run, because the answer stays in the queue. Also returns the
 * runs that it read, by the ids of the messages.
 * @param answers.read the messages by their ids, as `readPosted` returns them
 */
async function sealQuoted(
  context: HostMessageContext,
  host: HostDocument,
  { posted, read }: { posted: readonly NewMessage[]; read: ReadonlyMap<string, HostMessage> },
): Promise<{ sealed: NewMessage[]; runs: ReadonlyMap<string, ConfigurationResource> }> {
  const runs = new Map<string, ConfigurationResource>();
  const sealed = await Promise.all(
    posted.map(async (message) => {
      const answer = read.get(message.id);
      if (answer?.kind !== 'response' && answer?.kind !== 'anonymous response') return message;
      const id = 'id' in answer.response ? answer.response.id : await outstandingRun(context, host);
      const run = id === undefined ? undefined : await byRun(context, id);
      if (run) runs.set(message.id, run);
      const deployment = run?.deployment;
      if (deployment?.host_id !== host.id) return message;
      return { ...message, body: sealTexts(context.service.secrets, [deployment], message.body) };
    }),
  );
  return { sealed, runs };
}

/**
 * Processes the unhandled messages of a host in order.
 * @param given.read the messages by their ids, as far as the caller has read them
 */
export async function handlePosted(
  context: HostMessageContext,
  host: HostDocument,
  { posted, read = new Map() }: { posted: readonly MessageDocument[]; read?: ReadonlyMap<string, HostMessage> },
): Promise<void> {
  for (const message of posted) {
    if (message.handled !== false) continue;
    const known = read.get(message.id) ?? messageIn(context, message);
    if (known) await handleMessage(context, host, { message: known });
    const { messages } = context.collections;
    await messages.replace({ ...message, handled: true }, message.version);
  }
}

function messageIn({ service }: HostMessageContext, { body }: MessageDocument): HostMessage | undefined {
  const read = readHostMessage(openQuoted(service.secrets, body));
  return read.ok ? read.message : undefined;
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
      return takeProgress(context, host, message.progress);
    case 'response':
      await hearFacts(context, host, message.response);
      return takeAnswer(context, { host, document: run }, message.response);
    case 'anonymous response': {
      await hearFacts(context, host, message.response);
      const id = await outstandingRun(context, host);
      if (id !== undefined) await takeAnswer(context, { host }, { ...message.response, id });
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
