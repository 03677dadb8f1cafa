/** Resources and events of a stack. */
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  resourceAct,
  stackEvents,
  stackResources,
  stackSignal,
  type ResourceView,
  type StackEvent,
  type StackView,
} from '@anneal/contracts/scheduling.ts';
import type { SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { queryBoolean, queryNumber, queryValue, queryValues, type Query } from '../http/body.ts';
import { callerOf } from '../identity/caller.ts';
import { rootOf, stackAt, type StackPath } from './find-stack.ts';
import { eventBody, resourceBody } from './representation.ts';
import { signalByGrant } from './signal.ts';
import { heatError } from './wording.ts';

const at = '/:project/stacks/:name/:id';
const pageSize = 1000;

interface ResourcePath {
  Params: { name: string; resource: string };
}

const resourceMissing = (resource: string, stack: string): AnnealError =>
  heatError('NotFound', 'ResourceNotFound', `The Resource (${resource}) could not be found in Stack ${stack}.`);

const resourceFilters: Readonly<Record<string, (resource: ResourceView) => string>> = {
  type: ({ type }) => type,
  status: ({ status }) => status,
  name: ({ name }) => name,
  action: ({ action }) => action,
  id: ({ id }) => id,
  physical_resource_id: ({ physical_id }) => physical_id ?? '',
};

const hooks: ReadonlySet<string> = new Set(
  ['pre', 'post'].flatMap((when) => ['create', 'update', 'delete'].map((action) => `${when}-${action}`)),
);
const unsetHook = (body: Json | undefined): string | undefined =>
  isObject(body) && typeof body['unset_hook'] === 'string' ? body['unset_hook'] : undefined;

export function resourceRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  const resourcesOf = async (
    stack: StackView,
    { name, detail = true, depth = 0 }: { name?: string; detail?: boolean; depth?: number },
  ): Promise<ResourceView[]> => {
    const { project, id } = stack;
    const { resources } = await ask('scheduling', stackResources, {
      project,
      data: {
        project,
        stack: id,
        detail,
        ...(depth > 0 && { nested_depth: depth }),
        ...(name !== undefined && { name }),
      },
    });
    return resources;
  };
  const resourceAt = async (request: FastifyRequest<ResourcePath>): Promise<[StackView, ResourceView]> => {
    const stack = await stackAt(ask, request);
    const name = request.params.resource;
    const [resource] = await resourcesOf(stack, { name }).catch((error: unknown) => {
      if (error instanceof AnnealError && error.code === 'NotFound') return [];
      throw error;
    });
    if (!resource) throw resourceMissing(name, stack.name);
    return [stack, resource];
  };

  scope.get(`${at}/resources`, async (request) => {
    const detail = queryBoolean(request, 'with_detail') ?? false;
    const depth = queryNumber(request, 'nested_depth', { least: 0, most: 1_000_000 }) ?? 0;
    const unknown = Object.keys(request.query as Query).filter(
      (key) => !(key in resourceFilters) && key !== 'with_detail' && key !== 'nested_depth',
    );
    if (unknown.length > 0) {
      throw new AnnealError(
        'InvalidRequest',
        `Invalid filter parameters ${unknown.join(', ')}; known are ${Object.keys(resourceFilters).join(', ')}.`,
      );
    }
    const stack = await stackAt(ask, request);
    const resources = await resourcesOf(stack, { detail, depth });
    const fits = (resource: ResourceView): boolean =>
      Object.entries(resourceFilters).every(([key, read]) => {
        const wanted = queryValues(request, key);
        if (wanted.length === 0) return true;
        // Like Heat, match the type by substring and every other field exactly.
        return wanted.some((value) => (key === 'type' ? read(resource).includes(value) : read(resource) === value));
      });
    const root = rootOf(request);
    return {
      resources: resources.filter(fits).map((resource) => resourceBody(root, resource, { detail, shown: false })),
    };
  });

  scope.get<ResourcePath>(`${at}/resources/:resource`, async (request) => {
    const [, resource] = await resourceAt(request);
    return { resource: resourceBody(rootOf(request), resource, { detail: true, shown: true }) };
  });

  const signallers = { config: { signallers: true } } as const;

  /** The grant of a signaller. It may reach only the resource that its grant names. */
  const grantOf = (request: FastifyRequest<ResourcePath>): SignalGrant | undefined => {
    const caller = callerOf(request);
    if (caller.kind !== 'signaller') return undefined;
    const { id, resource } = request.params as unknown as StackPath & ResourcePath['Params'];
    if (caller.grant.stack_id === id && caller.grant.resource_name === resource) return caller.grant;
    throw new AnnealError('Forbidden', `This token may only signal the resource ${caller.name}.`);
  };

  scope.get<ResourcePath>(`${at}/resources/:resource/metadata`, signallers, async (request) => {
    grantOf(request);
    const [, resource] = await resourceAt(request);
    return { metadata: resource.metadata ?? {} };
  });

  scope.post<ResourcePath>(`${at}/resources/:resource/signal`, signallers, async (request, reply) => {
    const grant = grantOf(request);
    if (grant) {
      await signalByGrant(ask, grant, (request.body as Json | undefined) ?? null);
      return reply.type('application/json').send('null');
    }
    const [stack, resource] = await resourceAt(request);
    const hook = unsetHook(request.body as Json | undefined);
    if (hook !== undefined) {
      await clearHook(stack, resource.name, hook);
      return reply.type('application/json').send('null');
    }
    await ask('scheduling', stackSignal, {
      project: stack.project,
      data: {
        project: stack.project,
        stack: stack.id,
        resource: resource.name,
        signal: (request.body as Json | undefined) ?? null,
      },
    });
    return reply.type('application/json').send('null');
  });

  const clearHook = async ({ project, id, name }: StackView, resource: string, hook: string): Promise<void> => {
    const invalid = (message: string): AnnealError => heatError('InvalidRequest', 'InvalidBreakPointHook', message);
    if (!hooks.has(hook)) throw invalid(`Invalid hook type "${hook}" for stack ${name} resource ${resource}`);
    const action = { kind: 'clear hook', hook } as const;
    await ask('scheduling', resourceAct, { project, data: { project, stack: id, resource, action } }).catch(
      (error: unknown) => {
        throw error instanceof AnnealError && error.code === 'InvalidRequest' ? invalid(error.message) : error;
      },
    );
  };

  // ---- events

  const eventFilters: Readonly<Record<string, (event: StackEvent) => string>> = {
    resource_name: (event) => event.resource_name,
    resource_type: (event) => event.resource_type,
    resource_status: (event) => event.status,
    resource_action: (event) => event.action,
  };

  async function eventsOf(
    request: FastifyRequest,
    stack: StackView,
    { resource, depth = 0 }: { resource?: string; depth?: number },
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

  scope.get(`${at}/events`, async (request) => {
    const depth = queryNumber(request, 'nested_depth', { least: 0, most: 1_000_000 });
    const stack = await stackAt(ask, request);
    const events = await eventsOf(request, stack, { depth: depth ?? 0 });
    const root = rootOf(request);
    return {
      events: events.map((event) => eventBody(root, event, depth === undefined ? {} : { rootStack: stack })),
    };
  });

  scope.get<ResourcePath>(`${at}/resources/:resource/events`, async (request) => {
    const stack = await stackAt(ask, request);
    const name = request.params.resource;
    const events = await eventsOf(request, stack, { resource: name });
    if (events.length === 0 && queryValue(request, 'marker') === undefined) {
      throw heatError('NotFound', 'HTTPNotFound', `No events found for resource ${name}`);
    }
    const root = rootOf(request);
    return { events: events.map((event) => eventBody(root, event)) };
  });

  scope.get<{ Params: { name: string; resource: string; event: string } }>(
    `${at}/resources/:resource/events/:event`,
    async (request) => {
      const { resource: name, event: id } = request.params;
      const stack = await stackAt(ask, request);
      const event = await findEvent(stack, name, id);
      if (!event) throw heatError('NotFound', 'EntityNotFound', `The Event (${id}) could not be found.`);
      const [resource] = name === stack.name ? [] : await resourcesOf(stack, { name }).catch(() => []);
      return {
        event: {
          ...eventBody(rootOf(request), event),
          resource_type: event.resource_type,
          resource_properties: resource?.properties ?? {},
        },
      };
    },
  );

  async function findEvent(
    { project, id }: StackView,
    resource: string,
    wanted: string,
  ): Promise<StackEvent | undefined> {
    let marker: string | undefined;
    for (;;) {
      const { events } = await ask('scheduling', stackEvents, {
        project,
        data: {
          project,
          stack: id,
          resource,
          limit: pageSize,
          descending: true,
          ...(marker !== undefined && { marker }),
        },
      });
      const found = events.find((event) => event.id === wanted);
      const last = events.at(-1);
      if (found || !last || events.length < pageSize) return found;
      marker = last.id;
    }
  }
}
