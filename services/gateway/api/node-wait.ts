/** Names the node for which a server waits when its BMC does not answer. */
import type { BmcHealth } from '@anneal/contracts/bmc-health.ts';
import { nodeList } from '@anneal/contracts/calls/provisioning.ts';
import type { stackWhy } from '@anneal/contracts/calls/scheduling.ts';
import type { z } from 'zod';
import type { Ask } from '../ask.ts';

type Why = z.infer<(typeof stackWhy)['answer']>;

/** The explanation, down to the node when its BMC is the cause. Unchanged otherwise. */
export async function explainNode(ask: Ask, why: Why): Promise<Why> {
  const id = why.request?.resource_id;
  if (id === undefined) return why;
  const { nodes } = await ask('provisioning', nodeList, { data: { instance_id: id, limit: 1 } });
  const [node] = nodes;
  return node?.bmc && node.bmc.failures > 0 ? withNode(why, node.name, node.bmc) : why;
}

/** Adds the node. Without the text of the error, which names the address of the BMC: only operators may know it. */
export function withNode(why: Why, name: string, { failures, last_contact: contact, next_try: next }: BmcHealth): Why {
  const times = failures === 1 ? 'once' : `${failures} times in a row`;
  const answered = contact === null ? 'it has not answered yet' : `it last answered at ${contact}`;
  const resource = why.request?.resource ?? 'The server';
  return {
    ...why,
    summary: `${resource} waits for node ${name}, whose BMC has failed ${times}; ${answered}.`,
    chain: [
      ...why.chain,
      {
        object: `BMC of node ${name}`,
        state: `failed ${times}`,
        reason: next === null ? answered : `${answered}; the next try is at ${next}`,
        since: contact,
      },
    ],
    exits: [`anneal node show ${name}`, ...why.exits],
  };
}
