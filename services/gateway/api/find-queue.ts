/** Finds a queue by its name, on the bus or in the store. */
import type { Bus, QueueMeasure } from '@anneal/bus/port.ts';
import { hostList } from '@anneal/contracts/calls/hosts.ts';
import {
  queueList,
  queueMessages,
  queueShow,
  type QueueMessage,
  type QueueView,
} from '@anneal/contracts/calls/queues.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { nearestOf } from '@anneal/runtime/nearest.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { isFromOperator, projectOf } from '../identity/caller.ts';

/** Every queue of the project in the store. */
export async function storeQueues(ask: Ask, project: string): Promise<QueueView[]> {
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
}

/** Every name that {@link isBusQueue} accepts. The name of a host means its requests queue. */
async function knownNames(ask: Ask, project: string, onBus: readonly string[]): Promise<string[]> {
  const [inStore, { hosts }] = await Promise.all([
    storeQueues(ask, project),
    ask('configuration', hostList, { project, data: { project } }),
  ]);
  const ofHosts = hosts.flatMap(({ name }) => [`${name}.requests`, `${name}.responses`, name]);
  return [...onBus, ...inStore.map((queue) => queue.name), ...ofHosts];
}

/** The queues of the services that the caller may see: an operator all of them, others none. */
export const busQueues = (bus: Bus, request: FastifyRequest): Promise<QueueMeasure[]> =>
  isFromOperator(request) ? bus.queues.list() : Promise.resolve([]);

/** True for a queue of the bus. @throws AnnealError NotFound that names the nearest existing queue. */
export async function isBusQueue(
  { ask, bus }: { ask: Ask; bus: Bus },
  request: FastifyRequest,
  name: string,
): Promise<boolean> {
  const project = projectOf(request);
  const onBus = (await busQueues(bus, request)).map((queue) => queue.name);
  if (onBus.includes(name)) return true;
  if (await ask('configuration', queueShow, { project, data: { project, queue: name } }).catch(ignoreNotFound))
    return false;
  const known = await knownNames(ask, project, onBus);
  const nearest = nearestOf(name, known);
  const none = known.length === 0 ? ' There are no queues yet.' : '';
  const hint = nearest === undefined ? none : ` The nearest name is ${nearest}.`;
  throw new AnnealError('NotFound', `There is no queue ${name.slice(0, 255)}.${hint}`, {
    ...(nearest !== undefined && {
      mistakes: [{ code: 'NotFound', path: 'queue', message: 'no such queue', nearest }],
    }),
  });
}

/** The first messages of a queue in the store, claimed ones included; nothing changes. */
export async function peekStore(
  ask: Ask,
  { project, queue, most }: { project: string; queue: string; most: number },
): Promise<QueueMessage[]> {
  const { messages } = await ask('configuration', queueMessages, {
    project,
    data: {
      project,
      queue,
      limit: most,
      include_claimed: true,
      echo: true,
      client_id: '',
    },
  });
  return messages;
}
