/** Names the host or node that a request waits for. Only its provider knows it; the engine sees one request. */
import { deploymentList, type DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { hostOverview, hostShow, type HostView } from '@anneal/contracts/calls/hosts.ts';
import { nodeList } from '@anneal/contracts/calls/nodes.ts';
import type { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { hostStatusWord, rebootSentence } from '@anneal/contracts/calls/hosts.ts';
import { resourcesQueue } from '@anneal/contracts/queues.ts';
import type { z } from 'zod';
import type { Ask } from '../ask.ts';
import { explainNode } from './node-wait.ts';

type Why = z.infer<(typeof stackWhy)['answer']>;

/** The explanation, down to the host or the node that is the cause. Unchanged when its provider does not answer. */
export async function explainRequest(
  ask: Ask,
  { project, why: { idle_stacks: idle, idle_resource: resource, ...why } }: { project: string; why: Why },
): Promise<Why> {
  const { request } = why;
  // Nothing waits in an idle stack, but its machines may have died since.
  if (idle) {
    const data = { project, most: mostSilent, stacks: idle, ...(resource !== undefined && { resource }) };
    const { silent } = await ask('configuration', hostOverview, { project, data }).catch(() => ({ silent: [] }));
    return withSilent(why, { idle, resource, silent });
  }
  if (request?.queue === resourcesQueue('provisioning')) return explainNode(ask, why).catch(() => why);
  if (request?.queue !== resourcesQueue('configuration')) return why;
  try {
    const data = { project, stack_id: request.stack_id };
    const { deployments } = await ask('configuration', deploymentList, { project, data });
    const waiting = deployments.find(
      ({ status, resource_name: name }) => status === 'IN_PROGRESS' && name === request.resource,
    );
    if (!waiting) return why;
    const question = {
      project,
      host: waiting.host_id,
      ...(waiting.answer_state === 'never polled' && { similar: true }),
    };
    const host = await ask('configuration', hostShow, { project, data: question });
    // A host runs one config at a time, perhaps one of another stack.
    const running =
      waiting.answer_state === 'not taken'
        ? (await ask('configuration', deploymentList, { project, data: { project, host: host.id } })).deployments
        : [];
    const explained = withSimilar(withHost(why, waiting, { host, running: running.find(isRunning) }), host.similar);
    const { nodes } = await ask('provisioning', nodeList, { data: { instance_id: host.id, limit: 1 } });
    return nodes[0]?.power_state === 'power off' ? withoutPower(explained, nodes[0].name) : explained;
  } catch {
    return why;
  }
}

/** The most joined hosts that an explanation names. */
const mostSimilar = 3;
/** The most silent hosts of a stack that are counted. */
const mostSilent = 100;

/** Adds the silent hosts of idle stacks, or that of one server. An earlier configuration service answers with more. */
export function withSilent(
  why: Why,
  { idle, resource, silent }: { idle: readonly string[]; resource?: string | undefined; silent: readonly HostView[] },
): Why {
  const stacks = new Set(idle);
  const own = silent.filter(
    ({ server }) =>
      server && stacks.has(server.stack_id) && (resource === undefined || server.resource_name === resource),
  );
  const [first] = own;
  if (!first) return why;
  const since = first.last_seen_at;
  const others =
    own.length === 1 ? '' : ` (${own.length - 1} more of its hosts ${own.length === 2 ? 'is' : 'are'} silent too.)`;
  return {
    ...why,
    summary: `${why.summary} But host ${first.name} has been silent since ${since ?? first.created_at}.${others}`,
    chain: [
      ...why.chain,
      {
        object: `host ${first.name}`,
        state: 'silent',
        reason: 'does not ask for work',
        since: since ?? first.created_at,
      },
    ],
    exits: ['check the machine and its agent', `anneal host show ${first.name}`, 'anneal node list'],
  };
}

const sinceThen = (seen: string | null): string => (seen === null ? 'for a long time' : `since ${seen}`);

const isRunning = ({ status, answer_state: state }: DeploymentView): boolean =>
  status === 'IN_PROGRESS' && state === 'started';

const beganAt = ({ started_at, accepted_at, queued_at }: DeploymentView): string =>
  started_at ?? accepted_at ?? queued_at ?? 'a moment ago';

/**
 * Adds the host and its queue to the chain, and says what the host has done with the config.
 * @param running the config that the host runs, when this one waits behind it
 */
export function withHost(
  why: Why,
  deployment: DeploymentView,
  { host, running }: { host: HostView; running?: DeploymentView | undefined },
): Why {
  const { id, queued_at: queued, answer_state: state } = deployment;
  const resource = why.request?.path ?? deployment.resource_name;
  const seen = host.last_seen_at;
  const waiting = `${host.pending} ${host.pending === 1 ? 'request waits' : 'requests wait'} in ${host.requests_queue}`;
  const shared = {
    chain: [
      ...why.chain,
      {
        object: `host ${host.name}`,
        state: hostStatusWord(host),
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
        summary: `${resource} waits for host ${host.name}, which has not asked for work ${sinceThen(seen)}; ${waiting}.`,
        exits: [`check the agent on the machine`, show, ...others],
      };
    case 'not taken':
      return {
        ...shared,
        summary: running
          ? `${resource} waits for its turn on host ${host.name}, which ${doneWith(running, host)}.`
          : `${resource} waits in the queue of host ${host.name}, which ${host.status === 'silent' ? `has been silent ${sinceThen(seen)}` : 'asks for work'} and has not taken it yet; ${waiting}.`,
        exits: [
          running ? `anneal deployment logs ${running.id} --follow` : `anneal deployment list --host ${host.name}`,
          show,
          ...others,
        ],
      };
    case 'started': {
      const limit = deployment.deadline === null ? '' : `; ${resource} fails unless it ends by ${deployment.deadline}`;
      return {
        ...shared,
        summary: `Host ${host.name} ${doneWith({ ...deployment, resource_name: resource }, host)}${limit}.`,
        exits:
          host.status === 'silent'
            ? ['check the machine and its agent', show, 'anneal node list', ...others]
            : [`anneal deployment logs ${id} --follow`, show, ...others],
      };
    }
    default:
      return why;
  }
}

/** Adds the joined hosts that the template may mean, when the host that it names never asked for work. */
export function withSimilar(why: Why, similar: readonly string[] = []): Why {
  const [first, ...others] = similar;
  if (first === undefined) return why;
  const shown = similar.slice(0, mostSimilar).join(', ');
  const asked =
    others.length === 0
      ? `A host ${first} joined; do you mean that?`
      : `Hosts ${shown} joined; do you mean one of them?`;
  return {
    ...why,
    summary: `${why.summary} ${asked}`,
    exits: [`give the server in the template the name of the joined host: ${first}`, ...why.exits],
  };
}

/** The part of a sentence about a host and the config that it runs. */
function doneWith(running: DeploymentView, host: HostView): string {
  const { status, last_seen_at: seen } = host;
  const reboots = host.reboot?.deployment_id === running.id ? rebootSentence(host) : undefined;
  if (reboots !== undefined) return reboots;
  const [name, began] = [running.resource_name ?? running.name, beganAt(running)];
  // The machine may be dead, and with it the config.
  return status === 'silent'
    ? `took ${name} at ${began} and has been silent since ${seen ?? began}`
    : `has run ${name} since ${began}`;
}

/** Adds that the node of the host is powered off: the machine does nothing, although the host was up a moment ago. */
export function withoutPower(why: Why, node: string): Why {
  return {
    ...why,
    summary: `${why.summary.replace(/\.$/, '')}; its node ${node} is powered off.`,
    chain: [
      ...why.chain,
      { object: `node ${node}`, state: 'power off', reason: 'the machine of the host', since: null },
    ],
    exits: [`anneal node power ${node} on`, ...why.exits],
  };
}
