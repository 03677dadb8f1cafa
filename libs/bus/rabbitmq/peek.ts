/**
 * Reads the first messages of a queue without consumers. The protocol can only take messages, so they are taken and
 * given back, in their order. The notes prevent that from counting as attempts. A consumer that starts at this moment
 * may get later messages first.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Channel, GetMessage } from 'amqplib';
import { closeAmqp } from './close.ts';
import { arrivalOf, standingOf } from './consume/delivery.ts';
import type { RabbitConnection } from './connection.ts';
import type { RabbitNames } from './names.ts';
import type { Notes } from './consume/attempt-log.ts';

/** Reads the first messages of a queue, which stay there. Counts as no attempt. */
export type Look = (queue: string, limit: number) => Promise<readonly GetMessage[]>;

const patienceMs = 1000;

/**
 * The function that reads the first messages of a queue.
 * @throws AnnealError Unavailable while the broker is away
 */
export function createPeek(parts: {
  connection: RabbitConnection;
  names: RabbitNames;
  notes: Notes;
  now: () => Date;
}): Look {
  const { connection, names, notes, now } = parts;

  const open = async (): Promise<Channel> => {
    const channel = await connection.model?.createChannel();
    if (!channel) throw new AnnealError('Unavailable', `${connection.trouble ?? 'The broker is not connected'}.`);
    channel.on('error', () => undefined);
    return channel;
  };

  const note = async (name: string, found: readonly GetMessage[]): Promise<void> => {
    const at = now().toISOString();
    const looked = await Promise.all(
      found.map(async (message) => {
        const arrival = arrivalOf(name, message);
        const { key, takenBefore } = arrival;
        if (key === undefined) return [];
        const standing = standingOf(arrival, takenBefore > 0 ? await notes.read(key) : undefined, now);
        const { attempt, history } = standing;
        return [{ id: key, attempts: attempt - 1, taken: takenBefore + 1, history, at }];
      }),
    );
    await notes.write(looked.flat());
  };

  return async (queue, limit) => {
    const name = names.queue(queue);
    const channel = await open();
    const found: GetMessage[] = [];
    try {
      while (found.length < limit) {
        const message = await channel.get(name);
        if (message === false) break;
        found.push(message);
      }
      await note(name, found);
      return found;
    } finally {
      const last = found.at(-1);
      if (last) {
        const patience = performance.now() + patienceMs;
        channel.nack(last, true, true);
        // A look counts as a consumer until it has given the messages back.
        while ((await channel.checkQueue(name)).consumerCount > 0 && performance.now() < patience) {
          await new Promise((resolve) => void setTimeout(resolve, 2));
        }
      }
      await closeAmqp(channel);
    }
  };
}
