/** The node that an address of Ironic's API names. */
import { nodeShow, type NodeView } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';

/** The path of a node: its id or its name. */
export interface NodePath {
  Params: { node: string };
}

/** Reads the node. @throws AnnealError NotFound. */
export const showNode = (ask: Ask, { params }: FastifyRequest<NodePath>): Promise<NodeView> =>
  ask('provisioning', nodeShow, { data: { node: params.node } });
