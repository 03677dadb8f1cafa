/** All queues, of the store and of the bus, and the dead letters. */
import type { Bus, DeadLetter, QueueMeasure } from '@anneal/bus/port.ts';
import { hostList, queueList, queueMessages, queueShow, type QueueView } from '@anneal/contracts/configuration.ts';
import { AnnealError, failureSchema } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { nearestOf } from '@anneal/runtime/nearest.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { queueKey, type Wakeups } from '../wakeups.ts';
import { endpoint, type Endpoint } from './endpoint.ts';
import type { Stream, Streams } from './event-stream.ts';

export interface QueueEndpointOptions {
  ask: Ask;
  bus: Bus;
  secrets: Secrets;
  streams: Streams;
  wakeups: Wakeups;
  heartbeatMs: number;
}

const rowSchema = z.object({
  name: z.string(),
  kind: z.enum(['service', 'host', 'user']),
  depth: z.number(),
  in_flight: z.number(),
  consumers: z.number().nullable(),
  oldest_age_ms: z.number().nullable(),
});
const deadLetterSchema = z.object({
  id: z.string(),
  queue: z.string(),
  died_at: z.string(),
  attempts: z.number(),
  failure: failureSchema,
  history: z.array(z.object({ at: z.string(), error: z.string() })),
  message: z.unknown(),
});
const limit = z.coerce.number().int().min(1).max(1000).default(20);

/** Poll interval for watchers of a service queue, because the bus has no event for an arriving message. */
const watchBusMs = 250;

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

  /** Every queue of the project in the store. */
  const storeQueues = async (project: string): Promise<QueueView[]> => {
    const found: QueueView[] = [];
    for (;;) {
      const marker = found.at(-1)?.name;
      const { queues } = await ask('configuration', queueList, {
        project,
        data: { project, limit: 1000, ...(marker !== undefined && { marker }) },
      });
      found.push(...queues);
      if (queues.length < 1000) return found;
    }
  };

  /** Every name that {@link findQueue} accepts. The name of a host means its requests queue. */
  const knownNames = async (project: string, onBus: readonly string[]): Promise<string[]> => {
    const [inStore, { hosts }] = await Promise.all([
      storeQueues(project),
      ask('configuration', hostList, { project, data: { project } }),
    ]);
    const ofHosts = hosts.flatMap(({ name }) => [`${name}.requests`, `${name}.responses`, name]);
    return [...onBus, ...inStore.map((queue) => queue.name), ...ofHosts];
  };

  /** True for a queue of the bus. @throws AnnealError NotFound that names the nearest existing queue. */
  const findQueue = async (project: string, name: string): Promise<boolean> => {
    const onBus = (await bus.queues.list()).map((queue) => queue.name);
    if (onBus.includes(name)) return true;
    try {
      await ask('configuration', queueShow, { project, data: { project, queue: name } });
      return false;
    } catch (error) {
      if (!(error instanceof AnnealError) || error.code !== 'NotFound') throw error;
    }
    const nearest = nearestOf(name, await knownNames(project, onBus));
    const hint = nearest === undefined ? 'There is none yet.' : `The nearest name is ${nearest}.`;
    throw new AnnealError('NotFound', `There is no queue ${name.slice(0, 255)}. ${hint}`, {
      mistakes: [
        { code: 'NotFound', path: 'queue', message: 'no such queue', ...(nearest !== undefined && { nearest }) },
      ],
    });
  };

  const peekStore = async (project: string, queue: string, most: number, marker?: string) => {
    const { messages } = await ask('configuration', queueMessages, {
      project,
      data: {
        project,
        queue,
        limit: most,
        include_claimed: true,
        echo: true,
        client_id: '',
        ...(marker !== undefined && { marker }),
      },
    });
    return messages;
  };

  const shown = (letter: DeadLetter) => ({
    id: letter.id,
    queue: letter.queue,
    died_at: letter.diedAt,
    attempts: letter.attempts,
    failure: letter.failure,
    history: letter.history,
    message: mask(readMessage(letter.bytes)),
  });
  const letterMissing = (id: string) =>
    new AnnealError('NotFound', `There is no dead letter ${id}; it may have been replayed or purged.`);

  return [
    endpoint({
      method: 'GET',
      path: '/queues',
      summary: 'All queues: of the services, of the hosts, and those that users made.',
      answer: z.object({ queues: z.array(rowSchema) }),
      handle: async ({ request }) => {
        const project = projectOf(request);
        const found = await storeQueues(project);
        return { queues: [...(await bus.queues.list()).map(busRow), ...found.map(storeRow)] };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/queues/{queue}/messages',
      summary: 'The first messages of a queue, untouched. Secrets are masked.',
      query: z.object({ limit }),
      answer: z.object({ messages: z.array(z.looseObject({ id: z.string() })) }),
      handle: async ({ request, params, query }) => {
        const queue = params['queue'] ?? '';
        const messages = (await findQueue(projectOf(request), queue))
          ? await bus.queues.peek(queue, query.limit)
          : await peekStore(projectOf(request), queue, query.limit);
        return { messages: messages.map(mask) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/queues/{queue}/watch',
      summary: 'Each message of a queue as it arrives, as server-sent events.',
      stream: true,
      answer: z.unknown(),
      handle: async ({ request, reply, params }) => {
        const queue = params['queue'] ?? '';
        const project = projectOf(request);
        // Report errors in the request before the stream opens.
        const ofBus = await findQueue(project, queue);
        await streams.open(reply, (stream) =>
          ofBus ? watch(stream, watchBusMs, () => bus.queues.peek(queue, 1000)) : watchStore(stream, project, queue),
        );
      },
    }),
    endpoint({
      method: 'GET',
      path: '/dead-letters',
      summary: 'Messages that were given up on, the newest first.',
      query: z.object({ queue: z.string().optional(), limit, after: z.string().optional() }),
      answer: z.object({ dead_letters: z.array(deadLetterSchema) }),
      handle: async ({ query: { queue, limit: most, after } }) => {
        const letters = await bus.deadLetters.list({
          limit: most,
          ...(queue !== undefined && { queue }),
          ...(after !== undefined && { after }),
        });
        return { dead_letters: letters.map(shown) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/dead-letters/{id}',
      summary: 'One dead letter: why, after which attempts, and the message itself.',
      answer: deadLetterSchema,
      handle: async ({ params: { id = '' } }) => {
        const letter = await bus.deadLetters.show(id);
        if (!letter) throw letterMissing(id);
        return shown(letter);
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/dead-letters',
      summary: 'Throw away all dead letters of a queue, or, with all=true, of every queue.',
      query: z.object({ queue: z.string().min(1).optional(), all: z.enum(['true', 'false']).optional() }),
      status: 200,
      answer: z.object({ purged: z.number() }),
      handle: async ({ query: { queue, all } }) => {
        // A forgotten parameter must not delete every dead letter.
        if (queue === undefined && all !== 'true') {
          throw new AnnealError(
            'InvalidRequest',
            'Nothing says which dead letters to throw away: give queue=<name>, or all=true for those of every queue.',
          );
        }
        return { purged: await bus.deadLetters.purge(queue === undefined ? {} : { queue }) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/dead-letters/{id}',
      summary: 'Throw a dead letter away.',
      handle: async ({ params: { id = '' } }) => {
        if ((await bus.deadLetters.purge({ id })) === 0) throw letterMissing(id);
      },
    }),
    endpoint({
      method: 'POST',
      path: '/dead-letters/{id}/replay',
      summary: 'Send a dead letter again, to the end of the queue in which it died.',
      status: 202,
      answer: z.object({ id: z.string() }),
      handle: async ({ params: { id = '' } }) => {
        if (!(await bus.deadLetters.replay(id))) throw letterMissing(id);
        return { id };
      },
    }),
  ];

  /** Sends each message that was absent at the previous poll. */
  async function watch(
    stream: Stream,
    everyMs: number,
    look: () => Promise<{ id: string }[]>,
    pause?: (ms: number) => Promise<void>,
  ): Promise<void> {
    let seen = new Set<string>();
    let quietSince = performance.now();
    while (!stream.signal.aborted) {
      const messages = await look();
      for (const message of messages) {
        if (seen.has(message.id)) continue;
        await stream.send({ id: message.id, data: mask(message) });
        quietSince = performance.now();
      }
      seen = new Set(messages.map(({ id }) => id));
      if (performance.now() - quietSince > options.heartbeatMs) {
        await stream.heartbeat();
        quietSince = performance.now();
      }
      await (pause?.(everyMs) ?? sleep(everyMs, stream.signal));
    }
  }

  async function watchStore(stream: Stream, project: string, queue: string): Promise<void> {
    const listener = options.wakeups.listen(queueKey(project, queue));
    try {
      // A message may be claimed and deleted between two polls. The queue's own event keeps that window small.
      await watch(
        stream,
        1000,
        () => peekStore(project, queue, 1000),
        (ms) => listener.next(ms, stream.signal),
      );
    } finally {
      listener.close();
    }
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}

/** The message as JSON, or its text when it cannot be parsed. */
function readMessage(bytes: string): JsonObject | string {
  try {
    return JSON.parse(bytes) as JsonObject;
  } catch {
    return bytes;
  }
}
