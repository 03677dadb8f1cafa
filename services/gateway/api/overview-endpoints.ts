/**
 * The overview: what works, what failed and what needs a person, in one answer. Nodes and dead letters are shown to
 * operators only.
 */
import type { Bus, DeadLetter } from '@anneal/bus/port.ts';
import { hostOverview, type HostView } from '@anneal/contracts/calls/hosts.ts';
import { overviewSchema, type Need, type Overview } from '@anneal/contracts/calls/overview.ts';
import { nodeOverview, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { stackOverview, type StackAttention } from '@anneal/contracts/calls/stack-progress.ts';
import { subscriptionOverview, type StuckSubscription } from '@anneal/contracts/calls/subscriptions.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { z } from 'zod';
import { brokerAwaySince, isBrokerAway, type Ask } from '../ask.ts';
import { isFromOperator, projectOf } from '../identity/caller.ts';
import type { ReplicaWatch, SeenReplica } from '../replicas.ts';
import { route, type Route } from '../http/route.ts';
import { explainRequest } from './host-wait.ts';

/** The most objects of each kind that are explained one by one. */
const most = 20;
const mostLetters = 1000;
/** How long a machine may take to join, and a listener to come back, before a person is needed. */
const patienceMs = 5 * 60_000;

interface OverviewOptions {
  readonly ask: Ask;
  readonly bus: Bus;
  readonly now: () => number;
  readonly replicas: Pick<ReplicaWatch, 'list'>;
}

export const overviewEndpoints = (options: OverviewOptions): Route[] => [
  route({
    method: 'GET',
    path: '/overview',
    summary: 'Show what works, what failed and what needs a person, and count stacks, nodes and hosts by state.',
    answer: overviewSchema,
    handle: ({ request }) => readOverview(options, { project: projectOf(request), operator: isFromOperator(request) }),
  }),
];

/** Asks all services at once. The part of a service that does not answer is missing, and named. */
export async function readOverview(
  { ask, bus, now, replicas }: OverviewOptions,
  { project, operator }: { project: string; operator: boolean },
): Promise<Overview> {
  const silentParts: SilentPart[] = [];
  /** The part of one service; undefined when it does not answer, so that the others are still shown. */
  const part = <T>(name: string, read: () => Promise<T>): Promise<T | undefined> =>
    read().catch((error: unknown) => {
      silentParts.push({ name, error });
      return undefined;
    });
  const latest = new Date(now() - patienceMs).toISOString();
  const [stacks, nodes, hosts, subscriptions, letters = []] = await Promise.all([
    part('scheduling', () => stacksOf(ask, project)),
    part('provisioning', async () => (operator ? ask('provisioning', nodeOverview, { data: { most } }) : undefined)),
    part('configuration', () => hostsOf(ask, project)),
    part('notification', () =>
      ask('notification', subscriptionOverview, { project, data: { project, most, since: latest } }),
    ),
    part('broker', async () => (operator ? bus.deadLetters.list({ limit: mostLetters }) : [])),
  ]);
  const unanswered = needsOfParts(silentParts);
  const silent = operator ? replicas.list().filter(({ isSilent }) => isSilent) : [];
  const { waiting = [], working = [] } = Object.groupBy(stacks?.working ?? [], (stack) =>
    waitsForPerson(stack, latest) ? 'waiting' : 'working',
  );
  const ofLetters = needsOfLetters(letters);
  const failed = stacks?.failed ?? [];
  return {
    stacks: stacks?.counts ?? {},
    nodes: nodes?.counts ?? {},
    hosts: hosts?.counts ?? {},
    needs: [
      ...unanswered,
      ...silent.map((each) => needOfReplica(each, now())),
      ...failed.map(needOfStack),
      ...waiting.map(needOfStack),
      ...ofLetters,
      ...(nodes?.failed ?? []).map(needOfNode),
      ...(hosts?.needs ?? []).map(needOfHost),
      ...(subscriptions?.stuck ?? []).map(needOfSubscription),
    ],
    need_counts: {
      service: unanswered.length + silent.length,
      stack: (stacks?.failed_count ?? failed.length) + waiting.length,
      'dead letters': ofLetters.length,
      node: nodes?.failed_count ?? 0,
      host: hosts?.need_count ?? 0,
      subscription: subscriptions?.stuck_count ?? 0,
    },
    ...(operator && { dead_letters: letters.length }),
    working,
    working_count: stacks?.working_count === undefined ? working.length : stacks.working_count - waiting.length,
    unavailable: silentParts.map(({ name }) => name),
  };
}

/** The stacks with explanations down to the host. */
async function stacksOf(ask: Ask, project: string): Promise<z.infer<(typeof stackOverview)['answer']>> {
  const { working, ...rest } = await ask('scheduling', stackOverview, { project, data: { project, most } });
  const explained = working.map(async (stack) => ({
    ...stack,
    why: await explainRequest(ask, { project, why: stack.why }),
  }));
  return { ...rest, working: await Promise.all(explained) };
}

/** The hosts by status, and the silent ones. */
async function hostsOf(
  ask: Ask,
  project: string,
): Promise<{ counts: Record<string, number>; needs: HostView[]; need_count: number }> {
  const { counts, silent } = await ask('configuration', hostOverview, { project, data: { project, most } });
  return { counts, needs: silent, need_count: counts['silent'] ?? 0 };
}

/**
 * Whether the stack stands until a person lets it go on: at a hook, or at a host that has not joined although it was
 * expected before `latest`. A machine that Anneal boots is no such host: it joins before a config waits for it.
 */
const waitsForPerson = ({ why }: StackAttention, latest: string): boolean =>
  why.chain.some(
    ({ object, state, since }) =>
      object.startsWith('hook ') ||
      (object.startsWith('host ') && state === 'expected' && since !== null && since <= latest),
  );

/** A part of the overview that its service did not answer. */
interface SilentPart {
  readonly name: string;
  readonly error: unknown;
}

/** One need for all parts that miss the broker, and one for each other. */
function needsOfParts(parts: readonly SilentPart[]): Need[] {
  const away = parts.find(({ error }) => isBrokerAway(error));
  const others = parts.filter(({ error }) => !isBrokerAway(error));
  const need = ({ name, error }: SilentPart, since: string | null = null): Need => ({
    kind: 'service',
    id: name,
    name,
    // The message of a defect may contain secrets.
    summary: error instanceof AnnealError ? error.message : `The ${name} does not answer.`,
    since,
    exits: ['anneal service list'],
  });
  return [
    ...(away ? [need({ name: 'broker', error: away.error }, brokerAwaySince(away.error))] : []),
    ...others.map((part) => need(part)),
  ];
}

function needOfReplica({ document, unheardMs }: SeenReplica, now: number): Need {
  const { id, services, machine, pid } = document;
  const name = services.join(', ');
  return {
    kind: 'service',
    id,
    name,
    summary: `The process ${pid} on ${machine} shows no sign of life: it was killed or hangs, or it cannot reach the database.`,
    since: new Date(now - unheardMs).toISOString(),
    exits: ['anneal service list'],
  };
}

const needOfStack = ({ id, name, since, why }: StackAttention): Need => ({
  kind: 'stack',
  id,
  name,
  summary: why.summary,
  since: why.chain.at(-1)?.since ?? since,
  exits: why.exits,
});

/** One need per queue and error, because the same cause often kills many messages. */
function needsOfLetters(letters: readonly DeadLetter[]): Need[] {
  const causes = Map.groupBy(letters, ({ queue, failure }) => `${queue} ${failure.code}`);
  return [...causes.values()].slice(0, most).flatMap((same) => {
    const [latest] = same;
    if (!latest) return [];
    const { queue, failure, id, diedAt } = latest;
    const count = same.length === 1 ? 'A message' : `${same.length} messages`;
    return {
      kind: 'dead letters' as const,
      id,
      name: queue,
      summary: `${count} of ${queue} died: ${failure.message}`,
      since: diedAt,
      exits: [`anneal dead-letter show ${id}`, `anneal dead-letter replay ${id}`],
    };
  });
}

function needOfNode({
  id,
  name,
  fault,
  last_error: error,
  provision_state: state,
  updated_at: updated,
  conditions,
}: NodeView): Need {
  // A node that could not be verified is in the state in which it began.
  const what = fault ?? (state === 'enroll' ? 'not verified' : state);
  const reachable = conditions.find(({ type }) => type === 'Reachable');
  const since = reachable?.status === 'False' ? reachable.since : updated;
  const summary = error ? `Node ${name}: ${what}. ${error.message}` : `Node ${name}: ${what}.`;
  const again = fault === null && state === 'enroll' ? [`anneal node provide ${name} --verb manage`] : [];
  return { kind: 'node', id, name, summary, since, exits: [`anneal node show ${name}`, ...again] };
}

function needOfHost({ id, name, pending, last_seen_at: seen }: HostView): Need {
  const waiting = pending === 0 ? '' : `; ${pending} ${pending === 1 ? 'config waits' : 'configs wait'} for it`;
  const summary = `Host ${name} has fallen silent${waiting}.`;
  return { kind: 'host', id, name, summary, since: seen, exits: [`anneal host show ${name}`] };
}

const needOfSubscription = ({ id, name, reason, since, status }: StuckSubscription): Need => ({
  kind: 'subscription',
  id,
  name,
  summary: `Subscription ${name} ${reason}.`.replace(/\.\.$/, '.'),
  since,
  exits: [`anneal subscription ${status === 'disabled' ? 'resume' : 'test'} ${id}`, `anneal subscription show ${id}`],
});
