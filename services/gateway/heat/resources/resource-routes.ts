/** Reads the resources of a stack, and marks one as unhealthy. */
import { resourceAct, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl } from '../../http/base-url.ts';
import { route, type Route } from '../../http/route.ts';
import { SharedReads } from '../../http/shared-reads.ts';
import { mayChange, projectOf } from '../../identity/caller.ts';
import { occasionOf } from '../../identity/occasion.ts';
import { resourceAt, resourcesOf } from './find-resource.ts';
import { rootStackOf, stackAt, stackPath, type StackRouteInput } from '../stacks/find-stack.ts';
import { booleanOrWord, filterFields, filtersIn, wantedValues } from '../query.ts';
import { resourceBody, heatResourceSchema } from '../representation.ts';

const resourceFilters = {
  status: ({ status }: ResourceView) => status,
  name: ({ name }: ResourceView) => name,
  action: ({ action }: ResourceView) => action,
  id: ({ id }: ResourceView) => id,
  physical_resource_id: ({ physical_id }: ResourceView) => physical_id ?? '',
};
const listQuery = z.strictObject({
  with_detail: z.boolean().default(false),
  nested_depth: z.int().min(0).max(1_000_000).default(0),
  type: wantedValues.meta({ description: 'A part of the type.' }),
  ...filterFields(resourceFilters),
});

/** The body of a mark. */
const markSchema = z.strictObject({
  mark_unhealthy: booleanOrWord({
    error: ({ input }) => (input === undefined ? 'is missing' : `must be true or false, not ${JSON.stringify(input)}`),
  }),
  resource_status_reason: z
    .string('must be a string')
    .nullish()
    .transform((reason) => (reason ?? '').slice(0, 4096)),
});

/** The types whose attributes are the ways to signal them. */
const handles: ReadonlySet<string> = new Set([
  'OS::Heat::WaitConditionHandle',
  'OS::Heat::UpdateWaitConditionHandle',
  'AWS::CloudFormation::WaitConditionHandle',
]);

/** The resources of a stack. */
export function resourceRoutes({ ask, secrets }: { ask: Ask; secrets: Secrets }): Route[] {
  // A list of thousands takes a second, and consoles and clients of one project ask for it at the same time. It depends
  // on nothing but the project and the address.
  const reads = new SharedReads<object>();
  return [
    route({
      method: 'GET',
      path: `${stackPath}/resources`,
      summary: 'List the resources of a stack.',
      query: listQuery,
      answer: z.object({ resources: z.array(heatResourceSchema) }),
      handle: ({ params, query, request }) =>
        reads.read(`${projectOf(request)} ${baseUrl(request)}${request.url}`, () =>
          listOf(ask, { params, request }, query),
        ),
    }),
    route({
      method: 'GET',
      path: `${stackPath}/resources/{resource}`,
      summary: 'Show a resource.',
      answer: z.object({ resource: heatResourceSchema }),
      handle: async ({ params, request }) => {
        const [, resource] = await resourceAt(ask, { params, request }, { sealed: true });
        const { attributes = {} } = resource;
        // The user who may signal a handle reads how: Heat's users take the command from here.
        const isShown = handles.has(resource.type) && mayChange(request);
        const shown = isShown ? secrets.open<JsonObject>(attributes) : secrets.mask(attributes);
        return {
          resource: resourceBody(
            rootStackOf(request),
            { ...resource, attributes: shown },
            { detail: true, shown: true },
          ),
        };
      },
    }),
    route({
      method: 'PATCH',
      path: `${stackPath}/resources/{resource}`,
      summary: 'Mark a resource as unhealthy, so that the next update replaces it, or as healthy again.',
      body: markSchema,
      answer: z.null(),
      handle: async ({ params, body, request, reply }) => {
        const { project, id } = await stackAt(ask, { params, request });
        await ask('scheduling', resourceAct, {
          project,
          data: {
            project,
            stack: id,
            resource: params.resource,
            action: { kind: 'mark', unhealthy: body.mark_unhealthy, reason: body.resource_status_reason },
            occasion: occasionOf(request),
          },
        });
        return reply.type('application/json').send('null');
      },
    }),
  ];
}

async function listOf(ask: Ask, input: StackRouteInput, query: z.output<typeof listQuery>): Promise<object> {
  const { with_detail: detail, nested_depth: depth, type: types } = query;
  const stack = await stackAt(ask, input);
  const resources = await resourcesOf(ask, stack, { detail, depth });
  const filters = filtersIn(query, resourceFilters);
  // Like Heat, match the type by substring and every other field exactly.
  if (types) filters.push(({ type }) => types.some((wanted) => type.includes(wanted)));
  const root = rootStackOf(input.request);
  return {
    resources: await mapInSlices(
      resources.filter((resource) => filters.every((fits) => fits(resource))),
      (resource) => resourceBody(root, resource, { detail, shown: false }),
    ),
  };
}
