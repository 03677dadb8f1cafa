/**
 * The outbox: messages about a change of state are written with the change, and sent after it.
 *
 * O1 No message is sent before the state that it reports is durable.
 * O2 Messages that a crash left unsent are sent at the next start, and messages that an absent broker did not accept
 *    are sent soon after. They keep their ids, so that receivers recognise repeats. No client has to repeat its
 *    request.
 */
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { change } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { faultPoint } from '../fault.ts';

/** A message that a document must send. It is kept with the state that it reports until it is sent. */
export interface Outgoing {
  /** The queue to send to. Null for an event. */
  readonly queue: string | null;
  readonly message: Envelope;
}

/** A document that has messages to send. */
export interface WithOutbox extends Document {
  readonly outbox: readonly Outgoing[];
  /** True while the outbox holds something; the index by which a restart finds it. */
  readonly unsent: boolean;
}

/** The bus of an outbox. */
export interface Sender {
  readonly bus: Bus;
  /**
   * For documents that several handlers of this process change at the same time: the ids of the messages that it has
   * sent and not yet removed, so that it sends each once.
   */
  readonly sent?: Set<string>;
}

/**
 * Sends the messages of a document in their order and removes them from it. Harmless to repeat. Returns the document as
 * it is stored then.
 * @throws AnnealError Unavailable when the broker does not accept them; they stay in the document
 */
export async function flushOutbox<T extends WithOutbox>(
  { bus, sent = new Set() }: Sender,
  collection: Collection<T>,
  document: T,
): Promise<T> {
  if (!document.unsent) return document;
  await sendAll(bus, unsentIn(document, sent));
  const ids = document.outbox.map((entry) => entry.message.id);
  for (const id of ids) sent.add(id);
  await faultPoint('outbox.sent');
  // Another handler may have added messages meanwhile, so remove only those that were sent.
  const emptied = await change(collection, document, (current) => {
    if (!current.unsent) return undefined;
    const outbox = unsentIn(current, sent);
    return { ...current, outbox, unsent: outbox.length > 0 };
  });
  for (const id of ids) sent.delete(id);
  return emptied.document ?? document;
}

/** The messages of a document that are still to be sent. */
export const unsentIn = ({ outbox }: WithOutbox, sent: ReadonlySet<string>): Outgoing[] =>
  outbox.filter((entry) => !sent.has(entry.message.id));

const lookMs = 5_000;
const atOnce = 200;

/** O2: sends the messages of all documents until it is stopped. The collection has an index on `unsent`. */
export function keepSending<T extends WithOutbox>(parameters: {
  service: Sender & { log: { warn(facts: object, text: string): void } };
  collection: Collection<T>;
}): { stop(): Promise<void> } {
  const { service, collection } = parameters;
  let looking = Promise.resolve();
  const look = async (): Promise<void> => {
    try {
      for (const document of await collection.find({ where: { unsent: true }, limit: atOnce })) {
        await flushOutbox(service, collection, document);
      }
    } catch (error) {
      service.log.warn({ err: error }, 'outbox not flushed; retrying in 5 s');
    } finally {
      timer.refresh();
    }
  };
  const timer = setTimeout(() => {
    looking = look();
  }, lookMs);
  return {
    async stop() {
      clearTimeout(timer);
      await looking;
      clearTimeout(timer);
    },
  };
}

/**
 * Sends messages, those of each queue in their order. Durable on return.
 * @throws AnnealError Unavailable when the broker does not accept them
 */
export async function sendAll(bus: Bus, outbox: readonly Outgoing[]): Promise<void> {
  const events = outbox.filter((entry) => entry.queue === null).map((entry) => entry.message);
  const byQueue = Map.groupBy(
    outbox.filter((entry): entry is Outgoing & { queue: string } => entry.queue !== null),
    (entry) => entry.queue,
  );
  await Promise.all([
    ...(events.length > 0 ? [bus.publish(events)] : []),
    ...[...byQueue].map(([queue, entries]) => bus.send({ queue, messages: entries.map((entry) => entry.message) })),
  ]);
}
