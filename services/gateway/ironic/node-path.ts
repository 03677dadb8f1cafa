/** The node that an address of Ironic's API names. */
import { nodeShow, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { Ask } from '../ask.ts';

/** Reads the node by its id or its name. @throws AnnealError NotFound. */
export const showNode = (ask: Ask, node: string): Promise<NodeView> =>
  ask('provisioning', nodeShow, { data: { node } });
