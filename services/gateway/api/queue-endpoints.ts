/** All queues, of the store and of the bus. */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import type { Bus, QueueMeasure } from '@anneal/bus/port.ts';
import { queueList, queueMessageDelete, queuePost, queueShow, type QueueView } from '@anneal/contracts/calls/queues.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json, type Json } from '@anneal/contracts/json.ts';
import { mostInPage, pageCounts, type PageRequest } from '@anneal/contracts/page.ts';
import { pageOfRows, type PagedRows } from '@anneal/store/page.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';
import type { Streams } from '../http/event-stream.ts';
import { pageQuery, wantedPage } from './page-query.ts';
import { busQueues, isBusQueue, peekStore, storeQueues } from './find-queue.ts';
import { watchBusQueue, watchStoreQueue, type WatchOptions } from './queue-watch.ts';

export interface QueueEndpointOptions extends WatchOptions {
  streams: Streams;
}

const rowSchema = z
  .object({
    name: z.string(),
    kind: z.enum(['service', 'host', 'user']),
    depth: z.number(),
    in_flight: z.number(),
    consumers: z.number().nullable(),
    oldest_age_ms: z.number().nullable(),
    host_id: z.string().nullable(),
    received: z.number().nullable().meta({ description: 'All messages so far. Null for the queue of a service.' }),
  })
  .meta({ id: 'Queue' });
const posted = z.strictObject({
  messages: z
    .array(z.strictObject({ body: json, ttl: z.number().int().min(60).max(1_209_600).default(3600) }))
    .min(1)
    .max(100),
});
const limit = z.int().min(1).max(1000).default(20);

const busRow = ({ name, depth, inFlight, consumers, oldestAgeMs }: QueueMeasure) => ({
  name,
  kind: 'service',
  depth,
  in_flight: inFlight,
  consumers,
  oldest_age_ms: oldestAgeMs,
  host_id: null,
  received: null,
});
const storeRow = ({ name, free, claimed, oldest_age, host_id, received }: QueueView) => ({
  name,
  kind: host_id === null ? 'user' : 'host',
  depth: free,
  in_flight: claimed,
  consumers: null,
  oldest_age_ms: oldest_age === null ? null : oldest_age * 1000,
  host_id,
  received: received ?? null,
});

/** @throws AnnealError Forbidden for the queue of a service, because its messages are work in progress. */
async function refuseService(bus: Bus, queue: string, verb: string): Promise<void> {
  if (!(await bus.queues.list()).some(({ name }) => name === queue)) return;
  throw new AnnealError(
    'Forbidden',
    `Cannot ${verb} ${queue}: its messages are work in progress of a service. Dead letters can be purged: anneal dead-letter purge.`,
  );
}

export const queueEndpoints = (options: QueueEndpointOptions): Route[] => [
  ...queueReads(options),
  ...queueWrites(options),
];

function queueWrites(options: QueueEndpointOptions): Route[] {
  const { ask, bus } = options;
  return [
    route({
      method: 'POST',
      path: '/queues/{queue}/messages',
      summary: 'Publish messages to a queue of a user or a host. A queue of a user is created when it does not exist.',
      status: 201,
      body: posted,
      answer: z.object({ ids: z.array(z.string()) }),
      handle: async ({ request, params, body: { messages } }) => {
        const queue = params.queue;
        const project = projectOf(request);
        await refuseService(bus, queue, 'publish to');
        const data = { project, queue, client_id: 'api', messages };
        return ask('configuration', queuePost, { project, data });
      },
    }),
    route({
      method: 'DELETE',
      path: '/queues/{queue}/messages',
      summary: 'Remove all messages of a queue. Requests that a deployment waits for stay.',
      handle: async ({ request, params }) => {
        const queue = params.queue;
        const project = projectOf(request);
        await refuseService(bus, queue, 'purge');
        await isBusQueue(options, request, queue);
        await ask('configuration', queueMessageDelete, { project, data: { project, queue, purge: true } });
      },
    }),
  ];
}

/** A page of the queues of the services and of the store. Only its rows are measured. */
export async function pageOfAllQueues({ ask, bus }: QueueEndpointOptions, request: FastifyRequest, asked: PageRequest) {
  const { find, sort = 'name', descending, offset = 0, limit: most } = asked;
  const project = projectOf(request);
  const ofServices = (await busQueues(bus, request)).map(busRow).toSorted((a, b) => byNaturalOrder(a.name, b.name));
  const own = await pageOfRows(ofServices, listed, { find, limit: ofServices.length });
  const stored = async (from: number, count: number) => {
    const page = {
      find,
      sort,
      descending: sort === 'name' ? undefined : descending,
      offset: from,
      limit: Math.min(mostInPage, Math.max(1, count)),
    };
    return ask('configuration', queueList, { project, data: { project, page } });
  };
  const counted = ({ total = 0, found = 0 }: { total?: number | undefined; found?: number | undefined }) => ({
    total: own.total + total,
    found: own.found + found,
  });
  if (sort === 'name') {
    const rows = own.rows.slice(offset, offset + most);
    // One row at least, because the counts come with it.
    const behind = await stored(Math.max(0, offset - own.found), most - rows.length);
    return { queues: [...rows, ...behind.queues.map(storeRow)].slice(0, most), ...counted(behind) };
  }
  // Each queue of a service that comes before the first of these of the store is before the page.
  const from = Math.max(0, offset - own.found);
  const until = offset + most;
  const window = await stored(from, until - from);
  const rest = until - from - mostInPage;
  const more = rest > 0 && window.queues.length === mostInPage ? await stored(from + mostInPage, rest) : { queues: [] };
  const all = [...own.rows, ...[...window.queues, ...more.queues].map(storeRow)];
  const { rows } = await pageOfRows(all, listed, { ...asked, offset: offset - from });
  return { queues: rows, ...counted(window) };
}

type QueueRow = ReturnType<typeof busRow> | ReturnType<typeof storeRow>;
const listed: PagedRows<QueueRow> = {
  natural: 'name',
  columns: {
    depth: ({ depth }) => depth,
    in_flight: ({ in_flight: count }) => count,
    oldest: ({ oldest_age_ms: age }) => age ?? -1,
  },
  textsOf: ({ name, kind }) => [name, kind],
};

function queueReads(options: QueueEndpointOptions): Route[] {
  const { ask, bus, secrets, streams } = options;
  const mask = (value: unknown): Json => secrets.mask(value as Json);

  return [
    route({
      method: 'GET',
      path: '/queues',
      summary:
        'List all queues: of services, hosts and users. With `limit`, one page of them by name, those of services first. ' +
        'Columns: name, depth, in_flight, oldest; any but the name measures every queue.',
      query: z.strictObject(pageQuery),
      answer: z.object({ queues: z.array(rowSchema), ...pageCounts }),
      handle: async ({ request, query }) => {
        const project = projectOf(request);
        const page = wantedPage(query);
        if (page) return pageOfAllQueues(options, request, page);
        const found = await storeQueues(ask, project);
        return { queues: [...(await busQueues(bus, request)).map(busRow), ...found.map(storeRow)] };
      },
    }),
    route({
      method: 'GET',
      path: '/queues/{queue}',
      summary: 'Show a queue: messages that wait, messages in flight, age of the oldest.',
      answer: rowSchema,
      handle: async ({ request, params }) => {
        const queue = params.queue;
        const project = projectOf(request);
        if (await isBusQueue(options, request, queue)) {
          const found = (await bus.queues.list()).find(({ name }) => name === queue);
          if (found) return busRow(found);
        }
        return storeRow(await ask('configuration', queueShow, { project, data: { project, queue } }));
      },
    }),
    route({
      method: 'GET',
      path: '/queues/{queue}/messages',
      summary: 'Read the first messages of a queue without claiming them. Secrets are masked.',
      query: z.strictObject({ limit }),
      answer: z.object({ messages: z.array(z.looseObject({ id: z.string() })) }),
      handle: async ({ request, params, query }) => {
        const queue = params.queue;
        const project = projectOf(request);
        const messages = (await isBusQueue(options, request, queue))
          ? await bus.queues.peek(queue, query.limit)
          : await peekStore(ask, { project, queue, most: query.limit });
        return { messages: messages.map(mask) };
      },
    }),
    route({
      method: 'GET',
      path: '/queues/{queue}/watch',
      summary: 'Stream each message of a queue as it arrives, as server-sent events.',
      stream: 'only',
      answer: z.unknown(),
      handle: async ({ request, reply, params }) => {
        const queue = params.queue;
        const project = projectOf(request);
        // Report errors in the request before the stream opens.
        const ofBus = await isBusQueue(options, request, queue);
        await streams.open(reply, (stream) =>
          ofBus ? watchBusQueue(options, stream, queue) : watchStoreQueue(options, stream, { project, queue }),
        );
      },
    }),
  ];
}
