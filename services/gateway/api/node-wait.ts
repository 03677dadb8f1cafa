/** Names the node for which a server waits when it waits for a slot, when it writes its image, or when its BMC does not answer. */
import type { BmcHealth } from '@anneal/contracts/bmc-health.ts';
import { phaseText, progressText, type NodeProgress } from '@anneal/contracts/node-progress.ts';
import { nodeList, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import type { z } from 'zod';
import type { Ask } from '../ask.ts';

type Why = z.infer<(typeof stackWhy)['answer']>;

/** The explanation, down to the node when its turn, its work or its BMC is the cause. Unchanged otherwise. */
export async function explainNode(ask: Ask, why: Why): Promise<Why> {
  const id = why.request?.resource_id;
  if (id === undefined) return why;
  const { nodes } = await ask('provisioning', nodeList, { data: { instance_id: id, limit: 1 } });
  const [node] = nodes;
  const turn = node?.conditions.find(({ type, status }) => type === 'HasSlot' && status === 'False');
  // Its work has not begun, so its BMC is not the cause.
  if (node && turn) return withTurn(why, node.name, turn);
  if (node?.progress) return withProgress(why, node.name, node.progress);
  return node?.bmc && node.bmc.failures > 0 ? withNode(why, node.name, node.bmc) : why;
}

function withTurn(why: Why, name: string, { message, since }: NodeView['conditions'][number]): Why {
  return {
    ...why,
    summary: `${nameIn(why)} has node ${name}, which is ${message}.`,
    chain: [...why.chain, { object: `slot of node ${name}`, state: 'waiting', reason: message, since }],
    exits: [
      'anneal node list',
      `anneal node show ${name}`,
      'raise ANNEAL_PROVISIONING_DEPLOYS, _CLEANS or _ERASES',
      ...why.exits,
    ],
  };
}

function withProgress(why: Why, name: string, progress: NodeProgress): Why {
  const reason = progressText(progress);
  return {
    ...why,
    summary: `${nameIn(why)} has node ${name}, which ${phaseText(progress)}: ${reason}.`,
    chain: [...why.chain, { object: `machine of node ${name}`, state: progress.phase, reason, since: progress.since }],
    exits: [`anneal node show ${name}`, `anneal node console ${name} --log`, ...why.exits],
  };
}

const nameIn = ({ request }: Why): string => request?.path ?? request?.resource ?? 'The server';

/** Adds the node. Without the text of the error, which names the address of the BMC: only operators may know it. */
export function withNode(why: Why, name: string, { failures, last_contact: contact, next_try: next }: BmcHealth): Why {
  const times = failures === 1 ? 'once' : `${failures} times in a row`;
  const answered = contact === null ? 'it has not answered yet' : `it last answered at ${contact}`;
  const facts = next === null ? answered : `${answered}; the next try is at ${next}`;
  return {
    ...why,
    summary: `${nameIn(why)} waits for node ${name}, whose BMC has failed ${times}; ${facts}.`,
    chain: [
      ...why.chain,
      {
        object: `BMC of node ${name}`,
        state: `failed ${times}`,
        reason: facts,
        since: contact,
      },
    ],
    exits: [`anneal node show ${name}`, ...why.exits],
  };
}
