/** Reads the events of a stack and of one resource. */
import { stackEvents, type StackEvent, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { resourcesOf } from './find-resource.ts';
import { rootStackOf, stackAt, stackPath } from '../stacks/find-stack.ts';
import { filterFields, filtersIn, sortDirection } from '../query.ts';
import { eventBody, heatEventSchema, shownEventSchema } from '../representation.ts';
import { heatError } from '../wording.ts';

const pageSize = 1000;

const eventFilters = {
  resource_name: (event: StackEvent) => event.resource_name,
  resource_type: (event: StackEvent) => event.resource_type,
  resource_status: (event: StackEvent) => event.status,
  resource_action: (event: StackEvent) => event.action,
};

const pageQuery = z.object({
  limit: z.int().min(0).default(0).meta({ description: '0: all.' }),
  marker: z.string().optional(),
  sort_dir: sortDirection,
  ...filterFields(eventFilters),
});
const page = z.object({ events: z.array(heatEventSchema) });

/** The events of a stack and of a resource. */
export const eventRoutes = ({ ask }: { ask: Ask }): Route[] => [
  route({
    method: 'GET',
    path: `${stackPath}/events`,
    summary: 'List the events of a stack.',
    query: z.object({ nested_depth: z.int().min(0).max(1_000_000).optional(), ...pageQuery.shape }),
    answer: page,
    handle: async ({ params, query, request }) => {
      const { nested_depth: depth } = query;
      const stack = await stackAt(ask, { params, request });
      const events = await eventsOf(ask, query, { stack, depth });
      const root = rootStackOf(request);
      return {
        events: await mapInSlices(events, (event) =>
          eventBody(root, event, depth === undefined ? {} : { rootStack: stack }),
        ),
      };
    },
  }),
  route({
    method: 'GET',
    path: `${stackPath}/resources/{resource}/events`,
    summary: 'List the events of a resource.',
    query: pageQuery,
    answer: page,
    handle: async ({ params, query, request }) => {
      const stack = await stackAt(ask, { params, request });
      const { resource } = params;
      const events = await eventsOf(ask, query, { stack, resource });
      if (events.length === 0 && query.marker === undefined) {
        throw heatError('NotFound', 'HTTPNotFound', `No events found for resource ${resource}`);
      }
      const root = rootStackOf(request);
      return { events: events.map((event) => eventBody(root, event)) };
    },
  }),
  route({
    method: 'GET',
    path: `${stackPath}/resources/{resource}/events/{event}`,
    summary: 'Show an event.',
    answer: z.object({ event: shownEventSchema }),
    handle: async ({ params, request }) => {
      const { resource: name, event: id } = params;
      const stack = await stackAt(ask, { params, request });
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
  }),
];

/** Reads the events that the query selects. */
async function eventsOf(
  ask: Ask,
  { limit, marker, sort_dir: direction, ...query }: z.output<typeof pageQuery>,
  { stack, resource, depth }: { stack: StackView; resource?: string; depth?: number | undefined },
): Promise<StackEvent[]> {
  const filters = filtersIn(query, eventFilters);
  // Events that the gateway filters come in full pages.
  const size = filters.length === 0 && limit > 0 ? Math.min(pageSize, limit) : pageSize;
  const found: StackEvent[] = [];
  // Newest first by default, as in Heat.
  const wanted = { limit: size, marker, resource, nested_depth: depth, descending: direction !== 'asc' };
  for await (const events of pagesOf(ask, stack, wanted)) {
    found.push(...events.filter((event) => filters.every((fits) => fits(event))));
    if (limit > 0 && found.length >= limit) return found.slice(0, limit);
  }
  return found;
}

async function findEvent(
  ask: Ask,
  stack: StackView,
  { resource, id }: { resource: string; id: string },
): Promise<StackEvent | undefined> {
  for await (const events of pagesOf(ask, stack, { resource, limit: pageSize, descending: true })) {
    const found = events.find((event) => event.id === id);
    if (found) return found;
  }
  return undefined;
}

async function* pagesOf(
  ask: Ask,
  { project, id: stack }: StackView,
  wanted: Omit<z.output<typeof stackEvents.data>, 'project' | 'stack'>,
): AsyncGenerator<StackEvent[]> {
  for (let { marker } = wanted; ;) {
    const { events } = await ask('scheduling', stackEvents, { project, data: { project, stack, ...wanted, marker } });
    yield events;
    const last = events.at(-1);
    if (!last || events.length < (wanted.limit ?? pageSize)) return;
    marker = last.id;
  }
}
