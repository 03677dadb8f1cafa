/** The traits of nodes in Ironic's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { nodeUpdate, type NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { traitsSchema } from '@anneal/contracts/calls/node-fields.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { showNode } from './node-path.ts';

export function traitRoutes(ask: Ask): Route[] {
  const change = async (node: string, traits: string[]): Promise<void> => {
    const patch: NodePatch = [{ op: 'add', path: '/traits', value: traits }];
    await ask('provisioning', nodeUpdate, { data: { node, patch } });
  };
  return [
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/traits',
      summary: 'List the traits of a node.',
      answer: z.object({ traits: z.array(z.string()) }),
      handle: async ({ params }) => ({ traits: (await showNode(ask, params.node)).traits }),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/traits',
      summary: 'Replace the traits of a node.',
      body: z.strictObject({ traits: traitsSchema }),
      handle: ({ params, body }) => change(params.node, body.traits),
    }),
    route({
      method: 'DELETE',
      path: '/v1/nodes/{node}/traits',
      summary: 'Delete all traits of a node.',
      handle: ({ params }) => change(params.node, []),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/traits/{trait}',
      summary: 'Add a trait to a node.',
      handle: async ({ params: { node, trait } }) => {
        const { traits } = await showNode(ask, node);
        return change(node, [...traits, trait]);
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/nodes/{node}/traits/{trait}',
      summary: 'Delete a trait of a node.',
      handle: async ({ params: { node, trait } }) => {
        const { traits } = await showNode(ask, node);
        if (!traits.includes(trait)) throw new AnnealError('NotFound', `Node ${node} doesn't have a trait '${trait}'`);
        const rest = traits.filter((each) => each !== trait);
        return change(node, rest);
      },
    }),
  ];
}
