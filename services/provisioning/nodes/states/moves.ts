/** Applies a verb to a node. Pure: time and ids are parameters. */
import { AnnealError, errorTable, type Failure } from '@anneal/contracts/errors.ts';
import { spanText } from '@anneal/contracts/node-progress.ts';
import type { NodeState } from '@anneal/contracts/calls/nodes.ts';
import {
  stepText,
  withoutHeartbeat,
  type Boot,
  type NodeDocument,
  type PowerTarget,
  type NodeWork,
  type NodeChange,
} from '../../documents/node.ts';
import { deadlineAfter, doneText, type Heartbeat } from '../../documents/heartbeat.ts';
import {
  firstStep,
  holdStates,
  isWorking,
  nextState,
  nodeTransitions,
  outcomeVerbs,
  seedStates,
  verbTowards,
  type ProvisionStep,
  type Verb,
} from '../../documents/states.ts';

export interface Budgets {
  readonly bmcMs: number;
  readonly bootMs: number;
  readonly cleanMs: number;
  /** For the steps that an operator asked for. */
  readonly stepsMs: number;
  /** How long a machine that writes its image may make no progress, and take in total. */
  readonly stallMs: number;
  readonly totalMs: number;
  readonly cleanOnProvide: boolean;
}

export interface MoveContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly newId: () => string;
  readonly budgets: Budgets;
}

/** The work of a state that begins only now. */
export function renewedWork(node: NodeDocument, { now, budgets }: MoveContext): Pick<NodeWork, 'since' | 'deadline'> {
  return { since: new Date(now).toISOString(), deadline: now + budgetOf(node.state, plannedSteps(node), budgets) };
}

const plannedSteps = ({ plan }: { plan?: NodeDocument['plan'] }): number => (plan?.steps.length ?? 0) - (plan?.at ?? 0);

function budgetOf(state: NodeState, planned: number, budgets: Budgets): number {
  const { bmcMs, bootMs, cleanMs, stepsMs } = budgets;
  const more = planned > 0 ? stepsMs : 0;
  if (state === 'wait call-back' || state === 'rescuing') return bootMs;
  if (state === 'cleaning') return cleanMs + more;
  return bmcMs + more;
}

/** States in which the end of the server loses what an operator protects. */
const protectedStates: readonly NodeState[] = [
  'active',
  'rescue',
  'rescue failed',
  'service failed',
  'unrescue failed',
];

/** @throws AnnealError Forbidden or Conflict, with the reason of the operator. */
function requireAllowed(node: NodeDocument, verb: Verb): void {
  const why = (reason: string | null | undefined): string => (reason ? ` (${reason})` : '');
  if ((verb === 'deleted' || verb === 'rebuild') && node.protected && protectedStates.includes(node.state)) {
    throw new AnnealError(
      'Forbidden',
      `Node ${node.name} is protected${why(node.protected_reason)}, so its server is not released or rebuilt. To allow it: anneal node set ${node.name} --protected false.`,
      { details: { node: node.name } },
    );
  }
  if (verb === 'provide' && node.retired) {
    throw new AnnealError(
      'Conflict',
      `Node ${node.name} is retired${why(node.retired_reason)}, so it does not become available. To use it again: anneal node set ${node.name} --retired false.`,
    );
  }
}

/** @throws AnnealError Conflict that lists the verbs that the node allows. */
export function move(
  node: NodeDocument,
  verb: Verb,
  options: { moment: MoveContext; reason: string; change?: NodeChange; failure?: Failure },
): NodeChange {
  const { moment, reason, change = {}, failure } = options;
  const state = nextState(node.state, verb);
  if (state === undefined) {
    const internal: readonly string[] = [...outcomeVerbs, 'accept'];
    const can = Object.keys(nodeTransitions[node.state]).filter((name) => !internal.includes(name));
    throw new AnnealError(
      'Conflict',
      `Cannot apply "${verb}" to node ${node.name} because it is ${node.state}; possible now: ${can.join(', ') || 'nothing'}.`,
    );
  }
  requireAllowed(node, verb);
  const target = change.target === undefined ? node.target : change.target;
  const cleared = state === target || verb === 'fail' || verb === 'abort' ? null : target;
  const plan = change.plan === undefined ? (node.plan ?? null) : change.plan;
  const keepsPlan = isWorking(state) || holdStates.includes(state);
  const planned = plannedSteps({ plan });
  const workFor = (to: NodeState, step: ProvisionStep | undefined): NodeWork | null =>
    step === undefined ? null : work(step, budgetOf(to, planned, moment.budgets), moment);
  const boot = change.boot === undefined ? node.boot : change.boot;
  const moved: NodeChange = {
    ...change,
    ...(boot?.heartbeat && !seedStates[boot.purpose].includes(state) && { boot: withoutHeartbeat(boot) }),
    state,
    reason,
    target: cleared,
    power_target: null,
    work: verb === 'unhold' ? workFor(state, 'run steps') : workFor(state, firstStep(state)),
    last_error: failure ?? null,
    plan: keepsPlan ? plan : null,
    // Other work may turn the machine on.
    ...(isWorking(state) && state !== 'deleting' && { confirmed_off: null }),
    ...(verb === 'fail' &&
      state === 'clean failed' && { fault: 'clean failure', fault_since: new Date(moment.now).toISOString() }),
    ...(node.fault === 'clean failure' && state !== 'clean failed' && { fault: null, fault_since: null }),
  };
  if (isWorking(state)) return moved;
  const isOwn = failure?.code !== 'IdentityMismatch';
  if (state === 'clean failed' && isOwn && mayRunOldSystem(node))
    return { ...moved, ...changePower('power off', moment) };
  // A node at rest with a target: apply the next verb in the same write.
  const onwards = verbTowards({
    state,
    target: cleared,
    inspected: 'inspected_at' in (moved.properties ?? node.properties),
    clean: moment.budgets.cleanOnProvide,
    retired: node.retired ?? false,
  });
  return onwards === undefined ? moved : move({ ...node, ...moved }, onwards, { moment, reason, change: moved });
}

/** A machine that was turned on to erase its disks and did not boot the ramdisk may have booted from its disk. */
const mayRunOldSystem = ({ boot }: NodeDocument): boolean =>
  boot?.purpose === 'clean' && boot.commanded_at !== null && boot.exchanged_at === null;

const work = (step: ProvisionStep, budgetMs: number, { now, newId }: MoveContext): NodeWork => ({
  id: newId(),
  step,
  since: new Date(now).toISOString(),
  attempts: 0,
  next_at: 0,
  deadline: now + budgetMs,
});

/** Accepts the answering machine as the node's. Removes everything known about the previous one. */
export function acceptedMachine(node: NodeDocument): NodeChange {
  const { inspected_at: _inspected, ...properties } = node.properties;
  return {
    identity: node.foreign ?? node.identity,
    foreign: null,
    fault: null,
    fault_since: null,
    power: null,
    poll: { failures: 0, reading: null },
    properties,
    instance_id: null,
    instance_info: {},
    instance_notes: {},
    origin: null,
    facts: {},
    boot: null,
    warnings: [],
  };
}

/** @param limitMs how long it may take; absent for that of the settings, twice for a shutdown by the operating system */
export function changePower(target: PowerTarget, moment: MoveContext, limitMs?: number): NodeChange {
  const soft = target === 'soft power off' || target === 'soft rebooting';
  const usualMs = soft ? 2 * moment.budgets.bmcMs : moment.budgets.bmcMs;
  const ends = target === 'power off' || target === 'soft power off';
  return {
    power_target: target,
    work: work('change power', limitMs ?? usualMs, moment),
    ...(!ends && { confirmed_off: null }),
  };
}

/** The total limit of a machine that reports progress: never shorter than that of one that reports none. */
const totalMsOf = ({ totalMs, bootMs }: Budgets): number => Math.max(totalMs, bootMs);

/** The steps that wait for a machine in the ramdisk. */
const bootWaits: readonly ProvisionStep[] = ['await host', 'await report'];

/** Whether a node waits for the next heartbeat of its machine. */
export const awaitsHeartbeat = ({ work: current, boot }: Pick<NodeDocument, 'work' | 'boot'>): boolean =>
  current !== null && bootWaits.includes(current.step) && boot?.heartbeat !== undefined && boot.report === null;

/** The work of a node after a heartbeat of its machine, which moves the deadline of the wait for it. */
export function workAfterHeartbeat(
  { work: current, boot }: NodeDocument,
  heartbeat: Heartbeat,
  { budgets }: MoveContext,
): Pick<NodeChange, 'work'> {
  if (!current || !boot || !bootWaits.includes(current.step)) return {};
  const { deadline, since } = current;
  const limits = { stallMs: budgets.stallMs, totalMs: totalMsOf(budgets), deadline, since, purpose: boot.purpose };
  return { work: { ...current, deadline: deadlineAfter(heartbeat, limits) } };
}

/** The deadline of a wait whose machine starts again after it had sent heartbeats: it has the time of a boot once more. */
export function deadlineOfNextStart(
  { work: current, boot }: Pick<NodeDocument, 'work' | 'boot'>,
  { now, budgets }: Omit<MoveContext, 'newId'>,
): number | undefined {
  if (!current || !boot?.heartbeat) return undefined;
  const last = Date.parse(current.since) + totalMsOf(budgets);
  return Math.max(current.deadline, Math.min(now + budgets.bootMs, last));
}

/** The failure of a machine that reported progress, and then none. Undefined for another. */
function stalledFailure(node: NodeDocument, { budgets }: Pick<MoveContext, 'budgets'>): Failure | undefined {
  const { boot, work: current, name } = node;
  const { heartbeat, report } = boot ?? {};
  if (!current || !heartbeat || report) return undefined;
  const { at, moved_at, problem } = heartbeat;
  const done = `The machine of node ${name} ${doneText(heartbeat)}`;
  const isTotal = current.deadline < Date.parse(moved_at) + budgets.stallMs;
  const silent = at === moved_at ? `and sent nothing after ${at}` : `although it went on reporting until ${at}`;
  const message = isTotal
    ? `${done}, but was not done within ${spanText(totalMsOf(budgets) / 1000)} (ANNEAL_PROVISIONING_TOTAL_SECONDS)`
    : `${done}, then made no progress for ${spanText(budgets.stallMs / 1000)}, ${silent} (ANNEAL_PROVISIONING_STALL_SECONDS)`;
  const why = problem === undefined ? '' : ` Its last problem: ${problem.replace(/[.\s]*$/, '')}.`;
  return failure('DeadlineExceeded', `${message}.${why} Its console may show why: anneal node console ${name} --log.`, {
    node: name,
  });
}

/** The failure of work that missed its deadline. */
export function lateFailure(node: NodeDocument, moment: Pick<MoveContext, 'budgets'>): Failure {
  const { step = 'work', since = '' } = node.work ?? {};
  const stalled =
    bootWaits.some((each) => each === step) && node.boot?.purpose === 'deploy' && stalledFailure(node, moment);
  if (stalled) return stalled;
  if (step === 'await host') {
    const host =
      typeof node.instance_info['name'] === 'string' ? node.instance_info['name'] : (node.instance_id ?? '?');
    return failure(
      'HostSilent',
      `Host ${host} on node ${node.name} did not ask for work in time: powered on at ${node.boot?.powered_at ?? '?'}, ${bootedHowFar(node.boot)}.`,
      { host, node: node.name },
    );
  }
  if (step === 'await report') {
    const wanted = node.state === 'rescuing' ? 'its rescue system runs' : 'it is clean';
    return failure(
      'DeadlineExceeded',
      `Node ${node.name} did not report in time that ${wanted}: powered on at ${node.boot?.powered_at ?? '?'}, ${bootedHowFar(node.boot)}.`,
      { node: node.name },
    );
  }
  const last = node.last_error;
  if (last && node.work && node.work.attempts > 0) {
    return {
      ...last,
      message: `Step "${step}" failed after ${node.work.attempts} attempts since ${since}. ${last.message}`,
    };
  }
  return failure(
    'DeadlineExceeded',
    `Node ${node.name} did not finish ${stepText(node)} in time; it began at ${since}.`,
    {
      node: node.name,
    },
  );
}

/** Describes the boot progress. Only an exchange proves a boot, because a fetch may come from the BMC. */
function bootedHowFar(boot: Boot | null): string {
  if (boot?.report?.status === 'written') {
    const started = boot.disk ? `was started from its disk at ${boot.disk.at}` : 'powers off or restarts';
    return `it wrote its image, ${started}, then sent nothing`;
  }
  if (boot?.heartbeat) return `it ${doneText(boot.heartbeat)} until ${boot.heartbeat.at}, then sent nothing`;
  if (boot?.exchanged_at) return `it booted and exchanged its boot secret at ${boot.exchanged_at}, then sent nothing`;
  if (boot?.load && !boot.load.done) {
    const { at, sent, size } = boot.load;
    return `its firmware got ${sent} of ${size} bytes of its boot file at ${at} and did not ask for the rest`;
  }
  if (boot?.fetched_at) {
    return `the machine or its BMC fetched the boot image at ${boot.fetched_at}, but the machine did not boot it (it never exchanged its boot secret)`;
  }
  return 'its boot image was never fetched';
}

const failure = (
  code: 'HostSilent' | 'DeadlineExceeded',
  message: string,
  details: Record<string, unknown>,
): Failure => ({
  code,
  message,
  remedy: errorTable[code].remedy,
  details,
});
