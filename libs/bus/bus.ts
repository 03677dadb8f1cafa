/** The bus over any broker: everything that is the same on all brokers. Start reading at `port.ts`. */
import type { Definition } from '@anneal/contracts/define.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { mergePatch } from '@anneal/contracts/merge-patch.ts';
import { replayEnded } from '@anneal/contracts/resource.ts';
import { soleProcess } from '@anneal/store/permission.ts';
import type { Store } from '@anneal/store/port.ts';
import { groupQueue, type Broker, type BrokerConsumer, type BrokerIntake, type Packet } from './broker.ts';
import type { BusLog } from './bus-log.ts';
import { createClaimChecks, type ClaimChecks, type Destination } from './send/claim-checks.ts';
import { claimCheckBytes, createCodec, type Codec } from './codec.ts';
import { createDeaths } from './consume/death.ts';
import type { QuestionSeals } from './open-options.ts';
import { BusConsumer } from './consume/consumer.ts';
import { BusConsumers } from './consume/consumers.ts';
import { createReplayReports } from './consume/report-replay.ts';
import type { Bus } from './port.ts';
import { Outages } from './connect/outage.ts';
import { bytesOfReplay, withEarlierLives } from './replayed.ts';
import { failedAnswer, Questions } from './send/questions.ts';
import { Replays } from './send/replays.ts';
import { SendingOrder, type Packets } from './send/sending-order.ts';

/** A question costs its service several round trips to a database, which may be slow. */
const defaultTimeoutMs = 30_000;

/** Collaborators that the parts of a bus share. */
interface BusParts {
  readonly broker: Broker;
  readonly codec: Codec;
  readonly claimChecks: ClaimChecks;
  readonly log: BusLog;
  readonly outages: Outages;
}

/** The bus of the port on a broker. */
export function createBus(options: {
  broker: Broker;
  store: Store;
  registry: ReadonlyMap<string, Definition>;
  log: BusLog;
  newId: () => string;
  now: () => Date;
  /** How long the data of a large message is kept after the message was handled. */
  claimCheckMs?: number | undefined;
  sealing?: QuestionSeals | undefined;
}): Bus {
  const { broker, log, store, newId, now } = options;
  const claimChecks = createClaimChecks({
    store,
    queues: broker.queues,
    deadLetters: broker.deadLetters,
    log,
    keepMs: options.claimCheckMs,
  });
  const { registry, sealing } = options;
  // A broker without members is inside this process, and keeps questions in its memory.
  const asksInMemory = broker.members === undefined;
  const codec = createCodec({ registry, blobs: store.blobs, claimChecks, sealing, asksInMemory });
  const parts: BusParts = { broker, codec, claimChecks, log, outages: new Outages({ source: broker, now }) };
  const permission = broker.members?.permission ?? soleProcess(newId());
  const consumers = new BusConsumers({ broker, permission, log });
  const replays = new Replays();
  const messages = createSender(parts, replays);
  let closed = false;

  return {
    send: messages.send,
    request: messages.request,
    reply: messages.reply,
    publish: messages.publish,
    ...createReceiver(parts, consumers),
    hold: (name, onHeld) =>
      consumers.takeAlone(`held:${name}`, {
        begin: () => Promise.resolve(),
        rest: () => Promise.resolve(),
        onActive: onHeld,
      }),
    permission,
    ...createOperatorView(parts, { replays, now }),
    ...(broker.copyTo && { copyTo: broker.copyTo }),
    ...(broker.marks && { marks: broker.marks }),
    ...(broker.outage && { outage: () => broker.outage?.() }),
    check: async () => {
      if (closed) throw new AnnealError('Unavailable', 'The bus is closed.');
      await broker.check();
      broker.members?.check();
    },
    async close() {
      if (closed) return;
      closed = true;
      messages.close();
      await claimChecks.stop();
      await consumers.close();
      await broker.close();
    },
  };
}

/** Messages, events, questions and answers that leave this process. `close` ends the questions that wait. */
function createSender(
  parts: BusParts,
  replays: Replays,
): Pick<Bus, 'send' | 'request' | 'reply' | 'publish'> & { close(): void } {
  const { broker, codec, log, outages } = parts;
  const questions = new Questions();
  const order = new SendingOrder();

  broker.onAnswer((bytes, valid) => {
    // When an answer cannot be read, its question ends at the deadline, and that error names the queue.
    void (async () => codec.decode(bytes, valid))().then(
      (message) => (message.type === replayEnded.type ? replays.take(message) : questions.answer(message)),
      (error: unknown) => log.error({ err: error }, 'answer not readable; the requester waits until its deadline'),
    );
  });

  const encodeAll = (messages: readonly Envelope[], destination: Destination): Packets => {
    const packets = messages.map((message) => codec.encode(message, destination));
    const ready = packets.filter((packet): packet is Packet => !(packet instanceof Promise));
    return ready.length === packets.length ? ready : Promise.all(packets.map((packet) => Promise.resolve(packet)));
  };

  return {
    send: async ({ queue, messages }) => {
      if (messages.length === 0) return;
      const packets = encodeAll(messages, { kind: 'queue', queue });
      await order.send(queue, packets, (encoded) => broker.send({ queue, packets: encoded }));
    },
    async request({
      queue,
      call,
      message,
      timeoutMs = defaultTimeoutMs,
      signal,
      failsInOutage = false,
      seals = false,
    }) {
      if (failsInOutage) await outages.pass();
      const question = { ...message, replyto: broker.inbox, answerwithin: Math.max(1, Math.ceil(timeoutMs)) };
      const packets = encodeAll([question], { kind: 'once', seals });
      const answer = questions.ask({ queue, call, id: message.id, timeoutMs, signal });
      void order
        .send(queue, packets, async (encoded) => {
          for (const packet of encoded) await broker.ask({ queue, packet, ttlMs: timeoutMs });
        })
        .catch((error: unknown) => questions.fail(message.id, error));
      if (!failsInOutage) return answer;
      const leave = outages.watch((error) => questions.fail(message.id, error));
      return answer.finally(leave);
    },
    async reply({ to, message }) {
      const { replyto } = to;
      if (replyto === undefined) return;
      const sendTo = async (answer: Envelope): Promise<void> => {
        const isInbox = broker.isInbox(replyto);
        const packet = await codec.encode(answer, isInbox ? { kind: 'once' } : { kind: 'queue', queue: replyto });
        if (isInbox) await broker.answer({ inbox: replyto, packet });
        else await broker.send({ queue: replyto, packets: [packet] });
      };
      try {
        await sendTo({ ...message, causationid: to.id });
      } catch (error) {
        // The requester learns that its answer could not be sent, instead of waiting for the deadline.
        await sendTo(failedAnswer({ ...message, causationid: to.id }, error));
        throw error;
      }
    },
    publish: async (events) => {
      if (events.length === 0) return;
      await order.send('', encodeAll(events, { kind: 'event' }), (packets) => broker.publish(packets));
    },
    close: () => questions.close(),
  };
}

/** Consumers of queues and of events. */
function createReceiver(parts: BusParts, consumers: BusConsumers): Pick<Bus, 'consume' | 'subscribe'> {
  const { broker, codec, claimChecks, log } = parts;
  const deaths = createDeaths(parts);
  const reportReplay = createReplayReports(parts);
  const consumerOf = (
    own: Pick<ConstructorParameters<typeof BusConsumer>[0], 'handler' | 'options' | 'open'>,
  ): BusConsumer =>
    new BusConsumer({
      ...own,
      codec,
      claimChecks,
      log,
      notifyRequester: deaths(own.options.onDeath),
      reportReplay,
    });

  return {
    async consume(queue, handler, options = {}) {
      const alone = options.singleActive === true;
      const open = (intake: BrokerIntake): Promise<BrokerConsumer> => broker.consume(queue, { ...intake, alone });
      const consumer = consumerOf({ handler, options, open });
      await broker.queues.declare(queue);
      return alone ? consumers.takeAlone(queue, consumer) : consumers.share(queue, consumer);
    },
    async subscribe(patterns, handler, { group, ...options } = {}) {
      const alone = group !== undefined;
      const open = (intake: BrokerIntake): Promise<BrokerConsumer> =>
        broker.subscribe({ patterns, group }, { ...intake, alone });
      const consumer = consumerOf({ handler, options, open });
      if (!alone) return consumers.listen(consumer);
      await claimChecks.declareGroup(group, patterns);
      await broker.declareGroup({ patterns, group });
      // Order by subject needs one member that sees all events; the other members stand by.
      return consumers.takeAlone(groupQueue(group), consumer);
    },
  };
}

/**
 * The bytes of a message with changed data.
 * @throws AnnealError InvalidRequest when the letter is no message, its data is in the store, or the result is not valid
 */
function patched(
  codec: Codec,
  { id, message, patch }: { id: string; message: Envelope | undefined; patch: JsonObject },
): string {
  const refuse = (why: string, cause?: unknown): AnnealError =>
    new AnnealError('InvalidRequest', `Cannot change the dead letter ${id}: ${why}`, {
      cause,
      ...(cause instanceof AnnealError && cause.mistakes && { mistakes: cause.mistakes }),
    });
  if (!message) throw refuse('it is no message of Anneal. Replay it unchanged, or purge it.');
  const tooLarge = 'its data is over 256 KiB. Replay it unchanged, or purge it.';
  if (message.dataref !== undefined) throw refuse(tooLarge);
  const bytes = JSON.stringify({ ...message, data: mergePatch(message.data as Json, patch) });
  if (Buffer.byteLength(bytes) > claimCheckBytes) throw refuse(tooLarge);
  try {
    void codec.decode(bytes);
  } catch (error) {
    throw refuse(toFailure(error).message, error);
  }
  return bytes;
}

/** Queues and dead letters, as operators read and change them. */
function createOperatorView(
  { broker, codec, claimChecks, outages }: BusParts,
  { replays, now }: { replays: Replays; now: () => Date },
): Pick<Bus, 'queues' | 'deadLetters'> {
  /** Without it, each call would wait for the broker up to its own limit, and many calls one after another. */
  const reach = async (): Promise<Broker['queues']> => {
    outages.refuse();
    return broker.queues;
  };
  const letters = async (): Promise<Broker['deadLetters']> => {
    if (broker.deadLetters.isInStore !== true) outages.refuse();
    return broker.deadLetters;
  };
  return {
    queues: {
      declare: (queue) => broker.queues.declare(queue),
      list: async (prefix) => (await reach()).list(prefix),
      measure: async (queue) => (await reach()).measure(queue),
      peek: async (queue, limit) =>
        (await (await reach()).peek(queue, limit)).flatMap((bytes) => codec.glance(bytes) ?? []),
      purge: async (queue) => (await reach()).purge(queue),
      remove: async (queue) => (await reach()).remove(queue),
    },
    deadLetters: {
      list: async (parameters) => (await (await letters()).list(parameters)).map(withEarlierLives),
      show: async (id) => {
        const letter = await (await letters()).show(id);
        return letter && withEarlierLives(letter);
      },
      purge: async (parameters) => (await letters()).purge(parameters),
      async replay(id, { patch, waitMs = 0 } = {}) {
        outages.refuse();
        const kept = await broker.deadLetters.show(id);
        if (!kept) return undefined;
        const letter = withEarlierLives(kept);
        const message = codec.glance(letter.bytes);
        const bytes = patch ? patched(codec, { id, message, patch }) : letter.bytes;
        if (!patch && message?.dataref !== undefined) await claimChecks.replaying(id, message, letter.queue);
        const wait = replays.begin();
        try {
          const report = waitMs > 0 ? { inbox: broker.inbox, id: wait.id } : undefined;
          const sent = message && bytesOfReplay(letter, { bytes, at: now().toISOString(), report });
          // Bytes that are no message stay as they are.
          const isSent = await broker.deadLetters.replay(id, sent);
          return isSent ? await wait.outcome(waitMs) : undefined;
        } finally {
          wait.end();
        }
      },
    },
  };
}
