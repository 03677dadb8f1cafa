/** All queues, of the store and of the bus. */
import type { QueueMeasure } from '@anneal/bus/port.ts';
import type { QueueView } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { projectOf } from '../identity/caller.ts';
import { endpoint, type Endpoint } from './endpoint.ts';
import type { Streams } from './event-stream.ts';
import { isBusQueue, peekStore, storeQueues } from './find-queue.ts';
import { watchBusQueue, watchStoreQueue, type WatchOptions } from './queue-watch.ts';

export interface QueueEndpointOptions extends WatchOptions {
  streams: Streams;
}

const rowSchema = z.object({
  name: z.string(),
  kind: z.enum(['service', 'host', 'user']),
  depth: z.number(),
  in_flight: z.number(),
  consumers: z.number().nullable(),
  oldest_age_ms: z.number().nullable(),
});
const limit = z.coerce.number().int().min(1).max(1000).default(20);

const busRow = ({ name, depth, inFlight, consumers, oldestAgeMs }: QueueMeasure) => ({
  name,
  kind: 'service',
  depth,
  in_flight: inFlight,
  consumers,
  oldest_age_ms: oldestAgeMs,
});
const storeRow = ({ name, free, claimed, oldest_age, host_id }: QueueView) => ({
  name,
  kind: host_id === null ? 'user' : 'host',
  depth: free,
  in_flight: claimed,
  consumers: null,
  oldest_age_ms: oldest_age === null ? null : oldest_age * 1000,
});

export function queueEndpoints(options: QueueEndpointOptions): Endpoint[] {
  const { ask, bus, secrets, streams } = options;
  const mask = (value: unknown): Json => secrets.mask(value as Json);

  return [
    endpoint({
      method: 'GET',
      path: '/queues',
      summary: 'List all queues: of services, hosts and users.',
      answer: z.object({ queues: z.array(rowSchema) }),
      handle: async ({ request }) => {
        const project = projectOf(request);
        const found = await storeQueues(ask, project);
        return { queues: [...(await bus.queues.list()).map(busRow), ...found.map(storeRow)] };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/queues/{queue}/messages',
      summary: 'Read the first messages of a queue without claiming them. Secrets are masked.',
      query: z.object({ limit }),
      answer: z.object({ messages: z.array(z.looseObject({ id: z.string() })) }),
      handle: async ({ request, params, query }) => {
        const queue = params['queue'] ?? '';
        const project = projectOf(request);
        const messages = (await isBusQueue(options, project, queue))
          ? await bus.queues.peek(queue, query.limit)
          : await peekStore(ask, { project, queue, most: query.limit });
        return { messages: messages.map(mask) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/queues/{queue}/watch',
      summary: 'Stream each message of a queue as it arrives, as server-sent events.',
      stream: true,
      answer: z.unknown(),
      handle: async ({ request, reply, params }) => {
        const queue = params['queue'] ?? '';
        const project = projectOf(request);
        // Report errors in the request before the stream opens.
        const ofBus = await isBusQueue(options, project, queue);
        await streams.open(reply, (stream) =>
          ofBus ? watchBusQueue(options, stream, queue) : watchStoreQueue(options, stream, { project, queue }),
        );
      },
    }),
  ];
}
