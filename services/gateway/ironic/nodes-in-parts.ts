/**
 * The nodes of a list, in parts that fit into one message. A larger answer would go through the store as a claim check, and a
 * thousand nodes in one piece are copied several times on their way.
 */
import { nodeList, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { z } from 'zod';
import type { Ask } from '../ask.ts';

type Wanted = Partial<Omit<z.output<(typeof nodeList)['data']>, 'page'>>;

/** The inventory of a node takes some KiB of the 256 of a message. */
export const nodesAtOnce = 40;

/** By name, in parts. @param wanted absent: all nodes; `limit` is that of all parts together */
export async function* nodesInParts(ask: Ask, wanted: Wanted = {}): AsyncGenerator<readonly NodeView[]> {
  let left = wanted.limit ?? Infinity;
  for (let { marker } = wanted; left > 0;) {
    const limit = Math.min(left, nodesAtOnce);
    const data = { ...wanted, limit, ...(marker !== undefined && { marker }) };
    const { nodes } = await ask('provisioning', nodeList, { data });
    if (nodes.length > 0) yield nodes;
    if (nodes.length < limit) return;
    left -= nodes.length;
    marker = nodes.at(-1)?.id;
  }
}

/** The values that `of` returns for each node, of all nodes or of the wanted ones. */
export async function fromAllNodes<T>(
  ask: Ask,
  of: (node: NodeView) => readonly T[],
  wanted: Wanted = {},
): Promise<T[]> {
  const found: T[] = [];
  for await (const part of nodesInParts(ask, wanted)) for (const node of part) found.push(...of(node));
  return found;
}
