/** Reads the events of a stack and of one resource. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { stackEvents, type StackEvent, type StackView } from '@anneal/contracts/calls/scheduling.ts';
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { queryNumber, queryValue, queryValues } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { resourcesOf, type ResourcePath } from './find-resource.ts';
import { rootStackOf, stackAt, stackPath } from '../stacks/find-stack.ts';
import { eventBody, heatEventSchema, shownEventSchema } from '../representation.ts';
import { heatError } from '../wording.ts';

const pageSize = 1000;

const eventFilters: Readonly<Record<string, (event: StackEvent) => string>> = {
  resource_name: (event) => event.resource_name,
  resource_type: (event) => event.resource_type,
  resource_status: (event) => event.status,
  resource_action: (event) => event.action,
};

const pageFields = {
  limit: z.int().min(0).optional(),
  marker: z.string().optional(),
  sort_dir: z.enum(['asc', 'desc']).optional(),
  ...Object.fromEntries(Object.keys(eventFilters).map((name) => [name, z.string().optional()])),
};
const lists = described({
  summary: 'List the events of a stack.',
  query: z.object({ nested_depth: z.int().min(0).max(1_000_000).optional(), ...pageFields }),
  answer: z.object({ events: z.array(heatEventSchema) }),
});
const listsOfResource = described({
  summary: 'List the events of a resource.',
  query: z.object(pageFields),
  answer: z.object({ events: z.array(heatEventSchema) }),
});
const shows = described({ summary: 'Show an event.', answer: z.object({ event: shownEventSchema }) });

export function eventRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  scope.get(`${stackPath}/events`, lists, async (request) => {
    const depth = queryNumber(request, 'nested_depth', { least: 0, most: 1_000_000 });
    const stack = await stackAt(ask, request);
    const events = await eventsOf(ask, request, { stack, depth: depth ?? 0 });
    const root = rootStackOf(request);
    return {
      events: await mapInSlices(events, (event) =>
        eventBody(root, event, depth === undefined ? {} : { rootStack: stack }),
      ),
    };
  });

  scope.get<ResourcePath>(`${stackPath}/resources/:resource/events`, listsOfResource, async (request) => {
    const stack = await stackAt(ask, request);
    const name = request.params.resource;
    const events = await eventsOf(ask, request, { stack, resource: name });
    if (events.length === 0 && queryValue(request, 'marker') === undefined) {
      throw heatError('NotFound', 'HTTPNotFound', `No events found for resource ${name}`);
    }
    const root = rootStackOf(request);
    return { events: events.map((event) => eventBody(root, event)) };
  });

  scope.get<{ Params: { name: string; resource: string; event: string } }>(
    `${stackPath}/resources/:resource/events/:event`,
    shows,
    async (request) => {
      const { resource: name, event: id } = request.params;
      const stack = await stackAt(ask, request);
      const event = await findEvent(ask, stack, { resource: name, id });
      if (!event) throw heatError('NotFound', 'EntityNotFound', `The Event (${id}) could not be found.`);
      const [resource] = name === stack.name ? [] : await resourcesOf(ask, stack, { name }).catch(() => []);
      return {
        event: {
          ...eventBody(rootStackOf(request), event),
          resource_type: event.resource_type,
          resource_properties: resource?.properties ?? {},
        },
      };
    },
  );
}

/** Reads the events that the query selects, page by page. @throws AnnealError InvalidRequest for a wrong `sort_dir`. */
async function eventsOf(
  ask: Ask,
  request: FastifyRequest,
  { stack, resource, depth = 0 }: { stack: StackView; resource?: string; depth?: number },
): Promise<StackEvent[]> {
  const limit = queryNumber(request, 'limit', { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0;
  const direction = queryValue(request, 'sort_dir')?.toLowerCase();
  if (direction !== undefined && direction !== 'asc' && direction !== 'desc') {
    throw new AnnealError('InvalidRequest', `sort_dir must be asc or desc, not "${direction}".`);
  }
  // Newest first by default, as in Heat.
  const descending = direction !== 'asc';
  const filters = Object.entries(eventFilters).flatMap(([key, read]) => {
    const wanted = queryValues(request, key);
    return wanted.length === 0 ? [] : [(event: StackEvent) => wanted.includes(read(event))];
  });
  const found: StackEvent[] = [];
  let marker = queryValue(request, 'marker');
  for (;;) {
    const size = filters.length === 0 && limit > 0 ? Math.min(pageSize, limit - found.length) : pageSize;
    const { events } = await ask('scheduling', stackEvents, {
      project: stack.project,
      data: {
        project: stack.project,
        stack: stack.id,
        limit: size,
        descending,
        ...(marker !== undefined && { marker }),
        ...(resource !== undefined && { resource }),
        ...(depth > 0 && { nested_depth: depth }),
      },
    });
    found.push(...events.filter((event) => filters.every((fits) => fits(event))));
    const last = events.at(-1);
    if (limit > 0 && found.length >= limit) return found.slice(0, limit);
    if (!last || events.length < size) return found;
    marker = last.id;
  }
}

async function findEvent(
  ask: Ask,
  { project, id: stack }: StackView,
  { resource, id }: { resource: string; id: string },
): Promise<StackEvent | undefined> {
  let marker: string | undefined;
  for (;;) {
    const { events } = await ask('scheduling', stackEvents, {
      project,
      data: {
        project,
        stack,
        resource,
        limit: pageSize,
        descending: true,
        ...(marker !== undefined && { marker }),
      },
    });
    const found = events.find((event) => event.id === id);
    const last = events.at(-1);
    if (found || !last || events.length < pageSize) return found;
    marker = last.id;
  }
}
