/**
 * Stores a retry or a dead letter before the message is acknowledged, however long the broker or the store are away.
 */
import type { RabbitDeadLetters } from './dead-letters.ts';
import { connectionReason } from '../connection.ts';
import type { RabbitRetries } from './retries.ts';
import type { Afterlife } from './consumer.ts';
import type { BusLog } from '../../bus-log.ts';

const againMs = 500;

/** The functions that store a retry or a dead letter. They try until they succeed or the process stops. */
export function createAfterlife(parts: {
  retries: RabbitRetries;
  graveyard: RabbitDeadLetters;
  /**
   * False for a listener without a group: it has no queue for replaying a dead letter, so only the log has the error.
   */
  durable: boolean;
  isOpen: () => boolean;
  log: BusLog;
}): Afterlife {
  const { retries, graveyard, durable, isOpen, log } = parts;
  const certainly = async (queue: string, alive: () => boolean, work: () => Promise<void>): Promise<void> => {
    while (alive() && isOpen()) {
      try {
        await work();
        return;
      } catch (error) {
        log.warn({ queue, reason: connectionReason(error) }, 'failed message not moved; retrying');
        await new Promise((resolve) => void setTimeout(resolve, againMs));
      }
    }
  };
  return {
    arrived: (queue, messageId) => retries.seen(queue, messageId),
    retry: ({ alive, ...taken }) => certainly(taken.queue, alive, () => retries.put(taken)),
    bury: async ({ alive, verdict, queue, arrival, attempt, history }) => {
      if (!durable) return;
      await certainly(queue, alive, () =>
        graveyard.bury({
          id: verdict.id,
          queue,
          key: arrival.grave,
          subject: arrival.subject,
          attempts: attempt,
          failure: verdict.failure,
          history,
          content: arrival.message.content,
        }),
      );
    },
  };
}
