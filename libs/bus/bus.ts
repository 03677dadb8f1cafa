/** The bus over any broker: everything that is the same on all brokers. Start reading at `port.ts`. */
import type { Definition } from '@anneal/contracts/define.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Store } from '@anneal/store/port.ts';
import { Owners, soleOwner, type Ownership } from './active/owners.ts';
import { Turn, type TurnConsumer } from './active/turn.ts';
import { groupQueue, type Broker, type BrokerConsumer, type BusLog, type BrokerIntake, type Packet } from './broker.ts';
import { createClaimChecks, type Destination } from './claim-checks.ts';
import { createCodec } from './codec.ts';
import { createDeaths } from './death.ts';
import { BusConsumer } from './consumer.ts';
import type { Bus, Consumer } from './port.ts';
import { failedAnswer, Questions } from './questions.ts';

/** A question costs its service several round trips to a database, which may be slow. */
const defaultTimeoutMs = 30_000;

/** The bus of the port on a broker. */
export function createBus(options: {
  broker: Broker;
  store: Store;
  registry: ReadonlyMap<string, Definition>;
  log: BusLog;
  /** How long the data of a large message is kept after the message was handled. */
  claimCheckMs?: number | undefined;
}): Bus {
  const { broker, log, store } = options;
  const claimChecks = createClaimChecks({
    store,
    queues: broker.queues,
    deadLetters: broker.deadLetters,
    log,
    keepMs: options.claimCheckMs,
  });
  const codec = createCodec({ registry: options.registry, blobs: store.blobs, claimChecks });
  const deaths = createDeaths({ broker, codec, claimChecks, log });
  const questions = new Questions();
  const consumers = new Set<Consumer>();
  const turns = new Map<string, Turn>();
  let ownership: Promise<Ownership> | undefined;
  const inOrder = createSendingOrder();
  let closed = false;

  broker.onAnswer((bytes) => {
    // When an answer cannot be read, its question ends at the deadline, and that error names the queue.
    void (async () => codec.decode(bytes))().then(
      (message) => questions.answer(message),
      (error: unknown) => log.error({ err: error }, 'answer not readable; the requester waits until its deadline'),
    );
  });

  const encodeAll = (messages: readonly Envelope[], destination: Destination): Packet[] | Promise<Packet[]> => {
    const packets = messages.map((message) => codec.encode(message, destination));
    const ready = packets.filter((packet): packet is Packet => !(packet instanceof Promise));
    return ready.length === packets.length ? ready : Promise.all(packets.map((packet) => Promise.resolve(packet)));
  };

  const stoppable = (stop: Consumer['stop']): Consumer => {
    let stopping: Promise<void> | undefined;
    const consumer: Consumer = {
      stop(stopOptions) {
        stopping ??= stop(stopOptions).finally(() => consumers.delete(consumer));
        return stopping;
      },
    };
    consumers.add(consumer);
    return consumer;
  };

  const owners = async (): Promise<Ownership> => {
    const { members } = broker;
    if (!members) return soleOwner;
    ownership ??= Owners.open({ members, log }).catch((error: unknown) => {
      ownership = undefined;
      throw error;
    });
    return ownership;
  };

  const takeAlone = async (queue: string, consumer: TurnConsumer): Promise<Consumer> => {
    const ownedBy = await owners();
    const turn = turns.get(queue) ?? new Turn({ queue, ownership: ownedBy, log });
    turns.set(queue, turn);
    await turn.add(consumer);
    return stoppable(async (stopOptions = {}) => {
      await turn.remove(consumer, stopOptions);
      if (turn.isEmpty) turns.delete(queue);
    });
  };

  const take = async (consumer: BusConsumer): Promise<Consumer> => {
    await consumer.begin();
    return stoppable((stopOptions = {}) => consumer.rest(stopOptions));
  };

  const consumerOf = (
    parts: Pick<ConstructorParameters<typeof BusConsumer>[0], 'handler' | 'options' | 'open'>,
  ): BusConsumer =>
    new BusConsumer({ ...parts, codec, claimChecks, log, notifyRequester: deaths(parts.options.onDeath) });

  return {
    send: async ({ queue, messages }) => {
      if (messages.length === 0) return;
      await inOrder(queue, encodeAll(messages, { kind: 'queue', queue }), (packets) => broker.send({ queue, packets }));
    },
    async consume(queue, handler, consumeOptions = {}) {
      const alone = consumeOptions.singleActive === true;
      const open = (intake: BrokerIntake): Promise<BrokerConsumer> => broker.consume(queue, { ...intake, alone });
      const consumer = consumerOf({ handler, options: consumeOptions, open });
      if (!alone) return take(consumer);
      await broker.queues.declare(queue);
      return takeAlone(queue, consumer);
    },

    async request({ queue, call, message, timeoutMs = defaultTimeoutMs, signal }) {
      const question = { ...message, replyto: broker.inbox, answerwithin: Math.max(1, Math.ceil(timeoutMs)) };
      const packets = encodeAll([question], { kind: 'once' });
      const answer = questions.ask({ queue, call, id: message.id, timeoutMs, signal });
      void inOrder(queue, packets, async (encoded) => {
        for (const packet of encoded) await broker.ask({ queue, packet, ttlMs: timeoutMs });
      }).catch((error: unknown) => questions.fail(message.id, error));
      return answer;
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
      if (events.length > 0)
        await inOrder('', encodeAll(events, { kind: 'event' }), (packets) => broker.publish(packets));
    },
    async subscribe(patterns, handler, { group, ...consumeOptions } = {}) {
      const alone = group !== undefined;
      const open = (intake: BrokerIntake): Promise<BrokerConsumer> =>
        broker.subscribe({ patterns, group }, { ...intake, alone });
      const consumer = consumerOf({ handler, options: consumeOptions, open });
      if (!alone) return take(consumer);
      await claimChecks.declareGroup(group, patterns);
      await broker.declareGroup({ patterns, group });
      // Order by subject needs one member that sees all events; the other members stand by.
      return takeAlone(groupQueue(group), consumer);
    },

    hold: (name, onHeld) =>
      takeAlone(`held:${name}`, { begin: () => Promise.resolve(), rest: () => Promise.resolve(), onActive: onHeld }),

    queues: {
      declare: (queue) => broker.queues.declare(queue),
      list: (prefix) => broker.queues.list(prefix),
      measure: (queue) => broker.queues.measure(queue),
      peek: async (queue, limit) =>
        (await broker.queues.peek(queue, limit)).flatMap((bytes) => codec.glance(bytes) ?? []),
      purge: (queue) => broker.queues.purge(queue),
      remove: (queue) => broker.queues.remove(queue),
    },
    deadLetters: {
      list: (parameters) => broker.deadLetters.list(parameters),
      show: (id) => broker.deadLetters.show(id),
      purge: (parameters) => broker.deadLetters.purge(parameters),
      async replay(id) {
        const letter = await broker.deadLetters.show(id);
        if (!letter) return false;
        const message = codec.glance(letter.bytes);
        if (message?.dataref !== undefined) await claimChecks.replaying(id, message, letter.queue);
        return broker.deadLetters.replay(id);
      },
    },

    check: async () => {
      if (closed) throw new AnnealError('Unavailable', 'The bus is closed.');
      await broker.check();
    },
    async close() {
      if (closed) return;
      closed = true;
      questions.close();
      await claimChecks.stop();
      await Promise.all([...consumers].map((consumer) => consumer.stop({ deadlineMs: 0 })));
      await ownership?.then(
        (open) => open.close(),
        () => undefined,
      );
      await broker.close();
    },
  };
}

/**
 * B3 on the sender's side: a message that waits for its claim check is not overtaken by later ones to the same queue.
 */
function createSendingOrder() {
  const gates = new Map<string, Promise<unknown>>();
  return (
    queue: string,
    packets: Packet[] | Promise<Packet[]>,
    send: (packets: Packet[]) => Promise<void>,
  ): Promise<void> => {
    const before = gates.get(queue);
    if (!before && !(packets instanceof Promise)) return send(packets);
    // The earlier messages are handed over in their own turn, whether these succeed or fail.
    const sent = Promise.withResolvers<void>();
    const turn = async (): Promise<void> => {
      const [outcome] = await Promise.allSettled([packets, before]);
      if (gates.get(queue) === gate) gates.delete(queue);
      if (outcome.status === 'fulfilled') sent.resolve(send(outcome.value));
      else sent.reject(outcome.reason as Error);
    };
    const gate = turn();
    gates.set(queue, gate);
    return sent.promise;
  };
}
