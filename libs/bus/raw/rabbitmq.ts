/** Plain amqplib. The queues are the adapter's own, so that both sides pay for the same kind. */
import { connect } from 'amqplib';
import { RabbitNames } from '../rabbitmq/names.ts';
import { parseUrl } from '../rabbitmq/url.ts';
import type { RawPipe } from './pipe.ts';

/** Opens the plain driver for the bench, with the guarantees of the adapter. */
export async function openRawRabbitmq({ url }: { url: string }): Promise<RawPipe> {
  const endpoint = parseUrl(url);
  const names = new RabbitNames(endpoint);
  const [server] = endpoint.servers;
  if (!server) throw new Error(`${endpoint.shown} does not name a server.`);
  // As in the adapter: one connection sends, one consumes.
  const [sending, consuming] = await Promise.all([connect(server, endpoint.socket), connect(server, endpoint.socket)]);
  const publisher = await sending.createConfirmChannel();
  const preparer = await consuming.createChannel();
  let count = 0;
  // A message that no queue takes is returned before its confirm: then its send must not resolve.
  const returned = new Set<unknown>();
  publisher.on('return', ({ properties }) => returned.add(properties.messageId));

  const sendOne = (queue: string, text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const messageId = `raw-${(count += 1)}`;
      publisher.publish(
        '',
        names.queue(queue),
        Buffer.from(text),
        { persistent: true, mandatory: true, messageId },
        (error: unknown) => {
          if (error) reject(error);
          else if (returned.delete(messageId)) reject(new Error(`There is no queue ${queue}.`));
          else resolve();
        },
      );
    });

  const { product, version } = sending.connection.serverProperties;
  return {
    server: `${product} ${version}`,
    async prepare(queue) {
      await preparer.assertQueue(names.queue(queue), names.queueOptions(queue));
    },
    async send(queue, texts) {
      await Promise.all(texts.map((text) => sendOne(queue, text)));
    },
    async consume(queue, take, prefetch) {
      const channel = await consuming.createChannel();
      await channel.prefetch(prefetch);
      const inHand = new Set<Promise<void>>();
      const { consumerTag } = await channel.consume(names.queue(queue), (message) => {
        if (!message) return;
        const handle = async (): Promise<void> => {
          await take(message.content.toString());
          inHand.delete(taken);
          channel.ack(message);
        };
        const taken = handle();
        inHand.add(taken);
      });
      return async () => {
        await channel.cancel(consumerTag);
        await Promise.all(inHand);
        await channel.close();
      };
    },
    async close() {
      await Promise.all([sending.close(), consuming.close()]);
    },
  };
}
