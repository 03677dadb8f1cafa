/** Closes channels and connections of RabbitMQ. */
import type { Channel, ChannelModel } from 'amqplib';

/**
 * Closes a channel or a connection. Resolves also when the connection ends before the broker has answered: the promise of
 * the driver never settles then. A part that has ended already is success.
 */
export function closeAmqp(part: Channel | ChannelModel | undefined): Promise<void> {
  if (!part) return Promise.resolve();
  return new Promise((resolve) => {
    part.once('close', () => resolve());
    part.close().then(resolve, () => resolve());
  });
}
