/**
 * What a change of state says to others is written with the change, and sent after it.
 *
 * O1 Nothing is said before the state it tells of is durable.
 * O2 What a crash left unsent is sent at the next start, with the same ids, so that receivers can tell.
 */
import type { Bus } from '@anneal/bus/port.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Outgoing, WithOutbox } from './collections.ts';

export async function flushOutbox<T extends WithOutbox>(
  { bus }: { bus: Bus },
  collection: Collection<T>,
  document: T,
): Promise<T> {
  if (!document.unsent) return document;
  await sendAll(bus, document.outbox);
  await faultPoint('configuration.outbox.sent');
  const sent = new Set(document.outbox.map((entry) => entry.message.id));
  let current: T | undefined = document;
  // Another handler may have added to it meanwhile: only what was sent is taken out.
  while (current?.unsent) {
    const outbox: Outgoing[] = current.outbox.filter((entry) => !sent.has(entry.message.id));
    const replaced = await collection.replace({ ...current, outbox, unsent: outbox.length > 0 }, current.version);
    if (replaced) return replaced;
    current = await collection.get(document.id);
  }
  return current ?? document;
}

async function sendAll(bus: Bus, outbox: readonly Outgoing[]): Promise<void> {
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
