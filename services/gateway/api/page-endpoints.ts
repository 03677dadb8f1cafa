/** Pages of the lists whose rows have the forms of Heat and Ironic. */
import { nodeList } from '@anneal/contracts/calls/nodes.ts';
import { stackList } from '@anneal/contracts/calls/stacks.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import { pageCounts } from '@anneal/contracts/page.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { heatResourceSchema, heatStackRowSchema, resourceBody, stackRow } from '../heat/representation.ts';
import { rootStackOf } from '../heat/stacks/find-stack.ts';
import { baseUrl } from '../http/base-url.ts';
import { projectOf } from '../identity/caller.ts';
import { nodeBody } from '../ironic/node-view.ts';
import { route, type Route } from '../http/route.ts';
import { wantedPage, pageQuery } from './page-query.ts';

const defaultLimit = 100;

const stackSchema = z.object(heatStackRowSchema.shape).meta({ id: 'Stack' });
const resourceSchema = heatResourceSchema.extend({ path: z.string().optional() }).meta({ id: 'Resource' });

export function pageEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/stacks',
      summary:
        'Show one page of the stacks of the project, newest first, in the form of Heat. Nested ones are left out.',
      query: z.strictObject(pageQuery),
      answer: z.object({ stacks: z.array(stackSchema), ...pageCounts }),
      handle: async ({ request, query }) => {
        const project = projectOf(request);
        const page = wantedPage({ ...query, limit: query.limit ?? defaultLimit });
        const { stacks, ...counts } = await ask('scheduling', stackList, { project, data: { project, page } });
        const root = rootStackOf(request);
        return { stacks: stacks.map((stack) => jsonObject.parse(stackRow(root, stack))), ...counts };
      },
    }),
    route({
      method: 'GET',
      path: '/stacks/{stack}/resources',
      summary:
        'Show one page of the resources of a stack and its nested stacks, in the form of Heat with the path of each. ' +
        'Columns: path, state (what failed first), type, changed.',
      query: z.strictObject({
        ...pageQuery,
        depth: z.int().nonnegative().max(20).optional().meta({
          description: 'How many levels of nested stacks to include. Default: 10.',
        }),
      }),
      answer: z.object({
        resources: z.array(resourceSchema),
        ...pageCounts,
        states: z
          .record(z.string(), z.number().int())
          .meta({ description: 'How many resources are in each state, with and without the words of the search.' }),
      }),
      handle: async ({ request, params: { stack }, query: { depth = 10, ...query } }) => {
        const project = projectOf(request);
        const page = wantedPage({ ...query, limit: query.limit ?? defaultLimit });
        const data = { project, stack, detail: false, nested_depth: depth, page };
        const {
          resources,
          paths = [],
          total,
          found,
          states = {},
        } = await ask('scheduling', stackResources, {
          project,
          data,
        });
        const root = rootStackOf(request);
        const rows = resources.map((resource, index) =>
          jsonObject.parse({ ...resourceBody(root, resource, { detail: false, shown: false }), path: paths[index] }),
        );
        return { resources: rows, total, found, states };
      },
    }),
    route({
      method: 'GET',
      path: '/nodes',
      summary: 'Show one page of the nodes, by name, in the form of Ironic.',
      query: z.strictObject(pageQuery),
      answer: z.object({ nodes: z.array(jsonObject), ...pageCounts }),
      handle: async ({ request, query }) => {
        const page = wantedPage({ ...query, limit: query.limit ?? defaultLimit });
        const { nodes, ...counts } = await ask('provisioning', nodeList, { data: { page } });
        const base = baseUrl(request);
        return { nodes: nodes.map((node) => jsonObject.parse(nodeBody(base, node))), ...counts };
      },
    }),
  ];
}
