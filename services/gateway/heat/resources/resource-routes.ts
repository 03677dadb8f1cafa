/** Reads the resources of a stack, and marks one as unhealthy. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { resourceAct, type ResourceView } from '@anneal/contracts/calls/scheduling.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl } from '../../http/base-url.ts';
import { objectBody, queryBoolean, queryNumber, queryValues } from '../../http/body.ts';
import type { QueryValues } from '../../http/input.ts';
import { described } from '../../http/document.ts';
import { SharedReads } from '../../http/shared-reads.ts';
import { mayChange, projectOf } from '../../identity/caller.ts';
import { occasionOf } from '../../identity/occasion.ts';
import { resourceAt, resourcesOf, type ResourcePath } from './find-resource.ts';
import { rootStackOf, stackAt, stackPath } from '../stacks/find-stack.ts';
import { resourceBody, heatResourceSchema } from '../representation.ts';

const resourceFilters: Readonly<Record<string, (resource: ResourceView) => string>> = {
  type: ({ type }) => type,
  status: ({ status }) => status,
  name: ({ name }) => name,
  action: ({ action }) => action,
  id: ({ id }) => id,
  physical_resource_id: ({ physical_id }) => physical_id ?? '',
};

const lists = described({
  summary: 'List the resources of a stack.',
  query: z.object({
    with_detail: z.boolean().optional(),
    nested_depth: z.int().min(0).max(1_000_000).optional(),
    ...Object.fromEntries(Object.keys(resourceFilters).map((name) => [name, z.string().optional()])),
  }),
  answer: z.object({ resources: z.array(heatResourceSchema) }),
});
const shows = described({ summary: 'Show a resource.', answer: z.object({ resource: heatResourceSchema }) });
const marks = described({
  summary: 'Mark a resource as unhealthy, so that the next update replaces it, or as healthy again.',
  body: z.strictObject({
    mark_unhealthy: z.union([z.boolean(), z.enum(['true', 'false'])]),
    resource_status_reason: z.string().nullish(),
  }),
  answer: z.null(),
});

/** The types whose attributes are the ways to signal them. */
const handles: ReadonlySet<string> = new Set([
  'OS::Heat::WaitConditionHandle',
  'OS::Heat::UpdateWaitConditionHandle',
  'AWS::CloudFormation::WaitConditionHandle',
]);

export function resourceRoutes(scope: FastifyInstance, { ask, secrets }: { ask: Ask; secrets: Secrets }): void {
  // A list of thousands takes a second, and consoles and clients of one project ask for it at the same time. It depends
  // on nothing but the project and the address.
  const reads = new SharedReads<object>();
  scope.get(`${stackPath}/resources`, lists, (request) =>
    reads.read(`${projectOf(request)} ${baseUrl(request)}${request.url}`, () => listOf(request)),
  );

  const listOf = async (request: FastifyRequest): Promise<object> => {
    const detail = queryBoolean(request, 'with_detail') ?? false;
    const depth = queryNumber(request, 'nested_depth', { least: 0, most: 1_000_000 }) ?? 0;
    const unknown = Object.keys(request.query as QueryValues).filter(
      (key) => !(key in resourceFilters) && key !== 'with_detail' && key !== 'nested_depth',
    );
    if (unknown.length > 0) {
      throw new AnnealError(
        'InvalidRequest',
        `Invalid filter parameters ${unknown.join(', ')}; the parameters are ${Object.keys(resourceFilters).join(', ')}.`,
      );
    }
    const stack = await stackAt(ask, request);
    const resources = await resourcesOf(ask, stack, { detail, depth });
    const fits = (resource: ResourceView): boolean =>
      Object.entries(resourceFilters).every(([key, read]) => {
        const wanted = queryValues(request, key);
        if (wanted.length === 0) return true;
        // Like Heat, match the type by substring and every other field exactly.
        return wanted.some((value) => (key === 'type' ? read(resource).includes(value) : read(resource) === value));
      });
    const root = rootStackOf(request);
    return {
      resources: await mapInSlices(resources.filter(fits), (resource) =>
        resourceBody(root, resource, { detail, shown: false }),
      ),
    };
  };

  scope.get<ResourcePath>(`${stackPath}/resources/:resource`, shows, async (request) => {
    const [, resource] = await resourceAt(ask, request, { sealed: true });
    const { attributes = {} } = resource;
    // The user who may signal a handle reads how: Heat's users take the command from here.
    const isShown = handles.has(resource.type) && mayChange(request);
    const shown = isShown ? secrets.open<JsonObject>(attributes) : secrets.mask(attributes);
    return {
      resource: resourceBody(rootStackOf(request), { ...resource, attributes: shown }, { detail: true, shown: true }),
    };
  });

  scope.patch<{ Params: { resource: string } }>(`${stackPath}/resources/:resource`, marks, async (request, reply) => {
    const mark = markOf(request);
    const { project, id } = await stackAt(ask, request);
    await ask('scheduling', resourceAct, {
      project,
      data: {
        project,
        stack: id,
        resource: request.params.resource,
        action: { kind: 'mark', ...mark },
        occasion: occasionOf(request),
      },
    });
    return reply.type('application/json').send('null');
  });
}

/** Reads the body of a mark. @throws AnnealError InvalidRequest with Heat's message. */
function markOf(request: FastifyRequest): { unhealthy: boolean; reason: string } {
  const { mark_unhealthy: unhealthy, resource_status_reason: reason = null, ...others } = objectBody(request);
  const unknown = Object.keys(others);
  if (unknown.length > 0) {
    throw new AnnealError('InvalidRequest', `Unexpected parameters in body: ${unknown.join(', ')}`);
  }
  const flag = typeof unhealthy === 'string' ? unhealthy.toLowerCase() : unhealthy;
  if (flag !== true && flag !== false && flag !== 'true' && flag !== 'false') {
    const what = unhealthy === undefined ? 'is missing' : `must be true or false, not ${JSON.stringify(unhealthy)}`;
    throw new AnnealError('InvalidRequest', `mark_unhealthy ${what}.`);
  }
  if (reason !== null && typeof reason !== 'string') {
    throw new AnnealError('InvalidRequest', 'resource_status_reason must be a string.');
  }
  return { unhealthy: flag === true || flag === 'true', reason: (reason ?? '').slice(0, 4096) };
}
