/** The traits of nodes in Ironic's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { nodeUpdate, traitsSchema, type NodePatch } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField } from '../http/input.ts';
import { showNode, type NodePath } from './node-path.ts';
import { described } from '../http/document.ts';

interface TraitPath {
  Params: { node: string; trait: string };
}

const traitsBody = z.strictObject({ traits: traitsSchema });
const lists = described({ summary: 'List the traits of a node.', answer: z.object({ traits: z.array(z.string()) }) });
const replaces = described({ summary: 'Replace the traits of a node.', body: traitsBody });

/** Registers the routes of traits. */
export function traitRoutes(scope: FastifyInstance, ask: Ask): void {
  const changeTraits = async (request: FastifyRequest<NodePath>, reply: FastifyReply, traits: string[]) => {
    const patch: NodePatch = [{ op: 'add', path: '/traits', value: traits }];
    await ask('provisioning', nodeUpdate, { data: { node: request.params.node, patch } });
    return reply.code(204).send();
  };
  scope.get<NodePath>('/v1/nodes/:node/traits', lists, async (request) => ({
    traits: (await showNode(ask, request)).traits,
  }));
  scope.put<NodePath>('/v1/nodes/:node/traits', replaces, (request, reply) =>
    changeTraits(request, reply, parseField(traitsBody, request.body, 'The traits').traits),
  );
  scope.delete<NodePath>(
    '/v1/nodes/:node/traits',
    described({ summary: 'Delete all traits of a node.' }),
    (request, reply) => changeTraits(request, reply, []),
  );
  scope.put<TraitPath>(
    '/v1/nodes/:node/traits/:trait',
    described({ summary: 'Add a trait to a node.' }),
    async (request, reply) => {
      const { traits } = await showNode(ask, request);
      return changeTraits(request, reply, [...traits, request.params.trait]);
    },
  );
  const removes = described({ summary: 'Delete a trait of a node.' });
  scope.delete<TraitPath>('/v1/nodes/:node/traits/:trait', removes, async (request, reply) => {
    const { traits } = await showNode(ask, request);
    const { node: named, trait } = request.params;
    if (!traits.includes(trait)) throw new AnnealError('NotFound', `Node ${named} doesn't have a trait '${trait}'`);
    return changeTraits(
      request,
      reply,
      traits.filter((each) => each !== trait),
    );
  });
}
