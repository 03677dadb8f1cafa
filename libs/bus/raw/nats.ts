/** The plain JetStream client: two work-queue streams on file, a subject and a durable pull consumer per queue. */
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';
import { subjectToken } from '../nats/names.ts';
import { ackWaitMs } from '../nats/topology.ts';
import { readNatsUrl } from '../nats/url.ts';
import type { RawPipe } from './pipe.ts';

const dedupeMs = 120_000;

/** Opens the plain driver for the bench, with the guarantees of the adapter. */
export async function openRawNats({ url, name }: { url: string; name: string }): Promise<RawPipe> {
  const { connection, replicas } = await readNatsUrl(url);
  const nc = await connect(connection);
  const manager = await jetstreamManager(nc);
  const js = jetstream(nc);
  const streamOf = (queue: string): string => `${name}-${queue.endsWith('.responses') ? 'responses' : 'requests'}`;
  const subjectOf = (queue: string): string => `${streamOf(queue)}.${subjectToken(queue)}`;
  for (const stream of [`${name}-requests`, `${name}-responses`]) {
    await manager.streams.add({
      name: stream,
      subjects: [`${stream}.>`],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      num_replicas: replicas,
      duplicate_window: nanos(dedupeMs),
    });
  }
  let count = 0;

  return {
    server: `nats-server ${nc.info?.version ?? ''}`.trim(),
    async prepare(queue) {
      await manager.consumers.add(streamOf(queue), {
        durable_name: subjectToken(queue),
        filter_subject: subjectOf(queue),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ackWaitMs),
      });
    },
    async send(queue, texts) {
      const subject = subjectOf(queue);
      await Promise.all(texts.map((text) => js.publish(subject, text, { msgID: `raw-${(count += 1)}` })));
    },
    async consume(queue, take, prefetch) {
      const consumer = await js.consumers.get(streamOf(queue), subjectToken(queue));
      const inHand = new Set<Promise<void>>();
      const messages = await consumer.consume({
        max_messages: prefetch,
        callback: (message) => {
          const handle = async (): Promise<void> => {
            await take(message.string());
            inHand.delete(taken);
            message.ack();
          };
          const taken = handle();
          inHand.add(taken);
        },
      });
      return async () => {
        await Promise.all(inHand);
        await messages.close();
      };
    },
    async close() {
      for (const stream of [`${name}-requests`, `${name}-responses`]) await manager.streams.delete(stream);
      await nc.close();
    },
  };
}
