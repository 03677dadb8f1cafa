/** Names the host or node that a request waits for. Only its provider knows it; the engine sees one request. */
import { deploymentList, hostShow, type DeploymentView, type HostView } from '@anneal/contracts/calls/configuration.ts';
import type { stackWhy } from '@anneal/contracts/calls/scheduling.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { z } from 'zod';
import type { Ask } from '../ask.ts';
import { explainNode } from './node-wait.ts';

type Why = z.infer<(typeof stackWhy)['answer']>;

/** The explanation, down to the host or the node that is the cause. Unchanged when its provider does not answer. */
export async function explainRequest(ask: Ask, { project, why }: { project: string; why: Why }): Promise<Why> {
  const { request } = why;
  if (request?.queue === requestsQueue('provisioning')) return explainNode(ask, why).catch(() => why);
  if (request?.queue !== requestsQueue('configuration')) return why;
  try {
    const data = { project, stack_id: request.stack_id };
    const { deployments } = await ask('configuration', deploymentList, { project, data });
    const waiting = deployments.find(
      ({ status, resource_name: name }) => status === 'IN_PROGRESS' && name === request.resource,
    );
    if (!waiting) return why;
    const host = await ask('configuration', hostShow, { project, data: { project, host: waiting.host_id } });
    return withHost(why, waiting, host);
  } catch {
    return why;
  }
}

/** Adds the host and its queue to the chain, and says what the host has done with the config. */
export function withHost(why: Why, deployment: DeploymentView, host: HostView): Why {
  const { id, resource_name: resource, queued_at: queued, answer_state: state } = deployment;
  const seen = host.last_seen_at;
  const waiting = `${host.pending} ${host.pending === 1 ? 'request waits' : 'requests wait'} in ${host.requests_queue}`;
  const shared = {
    chain: [
      ...why.chain,
      {
        object: `host ${host.name}`,
        state: host.status,
        reason: seen === null ? 'has never asked for work' : `last asked for work at ${seen}`,
        // A host that is up has been seen a moment ago; the time of that is in the reason.
        since: host.status === 'up' ? null : (seen ?? host.created_at),
      },
      {
        object: `queue ${host.requests_queue}`,
        state: `${host.pending} waiting`,
        reason: `message of ${resource}`,
        since: queued,
      },
    ],
    ...(why.request && { request: why.request }),
  };
  const show = `anneal host show ${host.name}`;
  const others = why.exits.filter((exit) => exit.startsWith('anneal stack cancel'));
  switch (state) {
    case 'never polled':
      return {
        ...shared,
        summary: `${resource} waits for host ${host.name}, which has never asked for work; ${waiting}.`,
        exits: [`start the agent on the machine: anneal host token ${host.name}`, show, ...others],
      };
    case 'polled before':
      return {
        ...shared,
        summary: `${resource} waits for host ${host.name}, which has not asked for work since ${seen ?? 'long ago'}; ${waiting}.`,
        exits: [`check the agent on the machine`, show, ...others],
      };
    case 'not taken':
      return {
        ...shared,
        summary: `${resource} waits in the queue of host ${host.name}, which asks for work and has not taken it yet; ${waiting}.`,
        exits: [`anneal deployment list --host ${host.name}`, show, ...others],
      };
    case 'started':
      return {
        ...shared,
        summary: `Host ${host.name} has run ${resource} since ${deployment.started_at ?? deployment.accepted_at ?? queued ?? 'a moment ago'}${deployment.deadline === null ? '' : `; it fails unless it ends by ${deployment.deadline}`}.`,
        exits: [`anneal deployment logs ${id} --follow`, show, ...others],
      };
    default:
      return why;
  }
}
