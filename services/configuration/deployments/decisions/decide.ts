/**
 * Decides about runs: one config on one host, from its record to its answer. A function of data: it reads no store, no
 * clock and no queue. `run-states.ts` has the states and the effect of each input in each of them; `runs/carry-out.ts`
 * reads the run, records the decision and carries it out.
 *
 * R1 A run has an id of its own, which its document records; only the answer to the latest run has an effect.
 * R2 The document changes first. Queue, timer, responses and events follow from it, and are completed after a crash.
 * R3 A run ends at most once: by its answer, its deadline, the deletion of its host, or a deployment that it depends
 *    on.
 */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { awaitedKey, type DeploymentState } from '../../collections.ts';
import { mostReboots, rebootLimitMs } from '@anneal/contracts/reboot-option.ts';
import { answerDueAt } from '../../configs/time-limit.ts';
import type { DeploymentStep } from '../../respond.ts';
import { endingOf, type RunEnding, type RunTools } from './endings.ts';
import { attributesOf } from './outcome.ts';
import type { EndedBefore, RunDocument, RunInput, RunInputOf } from './run-inputs.ts';
import { effectOnRun, type RunEffect } from './run-states.ts';
import { unexpectedOf, type Unexpected } from './unexpected-answer.ts';

/** An event, with the deployment as it reports it. */
interface RunEvent {
  readonly step: DeploymentStep;
  readonly deployment: DeploymentState;
}

/** The change of the queue of the host: `runs/queue-changes.ts`. */
type QueueChange =
  /** The request is put there, unless it is there. */
  | 'put'
  /** The request is removed, also from a claim. */
  | 'remove'
  /** The host of a claimed request is asked to stop. A request without a claim is removed. */
  | 'stop';

/** Everything that follows from an input. */
export interface RunDecision {
  readonly effect: RunEffect;
  /** The document to record. Absent: it stays as it is. */
  readonly run?: RunDocument;
  readonly events: readonly RunEvent[];
  /** The response to the request of the engine. */
  readonly response?: Pick<ResourceResponse, 'status' | 'attributes' | 'message' | 'error'>;
  readonly queue?: QueueChange;
  /** When the runs of the host are looked at, at the latest. Milliseconds. */
  readonly lookAt?: number;
  /** True when the deployments that wait for this one may go on, or must be skipped. */
  readonly settles?: boolean;
  /** Why the run does not wait for what a host sent. */
  readonly unexpected?: Unexpected | undefined;
}

/** Decides what an input does to a run. */
export function decideRun(run: RunDocument, input: RunInput, tools: RunTools): RunDecision {
  const effect = effectOnRun(run, input);
  switch (effect) {
    case 'nothing':
      return { effect, events: [], unexpected: judged(run, input, tools) };
    case 'waits':
      return { effect, events: [], lookAt: input.kind === 'due' ? input.dueAt : deadlineOf(run) };
    case 'offers':
      return { effect, events: [], queue: 'put' };
    case 'releases':
      return released(run, (input as RunInputOf<'released'>).by);
    case 'accepts':
      return accepted(run, input);
    case 'starts':
      return started(run, input as RunInputOf<'started'>, tools);
    case 'reboots':
      return input.kind === 'reset' ? reset(run, tools) : rebooting(run, input as RunInputOf<'rebooting'>, tools);
    case 'notes':
      return { effect, events: [], run: noted(run, input) };
    case 'ends':
    case 'stops': {
      const ending = endingOf(run, { input, effect }, tools);
      if (!ending) throw new Error(`The table of transitions lets ${input.kind} end a run.`);
      return ended({ ...run, deployment: withAcceptance(run.deployment, input) }, { effect, ending }, tools);
    }
    case 'repeats':
      return {
        effect,
        events: [],
        settles: true,
        // The first attempt may have died before it reached the queue.
        ...((input.kind === 'cancelled' || input.kind === 'withdrawn') && { queue: 'stop' }),
        unexpected: judged(run, input, tools),
      };
  }
}

function judged(run: RunDocument, input: RunInput, { secrets }: RunTools): Unexpected | undefined {
  if (input.kind === 'answered') return unexpectedOf(secrets, run, input);
  return input.kind === 'started' || input.kind === 'rebooting'
    ? unexpectedOf(secrets, run, { host: input.host })
    : undefined;
}

const deadlineOf = ({ deployment: { deadline } }: RunDocument): number => Date.parse(deadline ?? '');

function released(run: RunDocument, by: EndedBefore): RunDecision {
  const waiting_for = run.deployment.waiting_for.filter((id) => id !== by.id);
  const { after, ...rest } = run.deployment;
  const isLast = waiting_for.length === 0;
  const deployment = { ...rest, waiting_for, ...(after && !isLast && { after }) };
  return {
    effect: 'releases',
    run: { ...run, deployment, awaits: awaitedKey(run.stack_id, waiting_for) },
    events: [],
    ...(isLast ? { queue: 'put' } : { lookAt: deadlineOf(run) }),
  };
}

function withAcceptance(deployment: DeploymentState, { accepted_at }: RunInput): DeploymentState {
  return accepted_at === undefined ? deployment : { ...deployment, accepted_at };
}

function accepted(run: RunDocument, input: RunInput): RunDecision {
  const { host_name } = run.deployment;
  const deployment = { ...withAcceptance(run.deployment, input), reason: `Taken by ${host_name}` };
  return { effect: 'accepts', run: { ...run, deployment }, events: [{ step: 'accepted', deployment }] };
}

function started(run: RunDocument, input: RunInputOf<'started'>, { now }: RunTools): RunDecision {
  const { host, progress } = input;
  const latest = deadlineOf(run);
  // The clock of the host may be wrong, so the limit counts from now.
  const dueAt = run.deployment.request ? answerDueAt(run.deployment.request, now, latest) : latest;
  const deployment: DeploymentState = {
    ...withAcceptance(run.deployment, input),
    started_at: progress.at ?? new Date(now).toISOString(),
    deadline: new Date(dueAt).toISOString(),
    reason: `Runs on ${host.name}`,
  };
  const message = `${deployment.name} runs on ${host.name}`;
  return {
    effect: 'starts',
    run: { ...run, deployment },
    events: [{ step: 'started', deployment }],
    ...(!run.response && { response: { status: 'in progress', message } }),
    lookAt: dueAt,
  };
}

/** The time of the boot does not count for the script: the limit of the script begins again when the host is back. */
function rebooting(run: RunDocument, input: RunInputOf<'rebooting'>, { now }: RunTools): RunDecision {
  const { host, progress } = input;
  const { request, started_at } = run.deployment;
  const { number = 1, over = false } = progress.reboot ?? {};
  const latest = request ? Date.parse(request.deadline) : deadlineOf(run);
  const boundMs = rebootLimitMs(request?.options ?? {});
  const dueAt = over && request ? answerDueAt(request, now, latest) : Math.min(latest, now + boundMs);
  const at = new Date(now).toISOString();
  const known = run.deployment.reboot;
  const until = new Date(dueAt).toISOString();
  const reboot = over && known?.number === number ? { ...known, over } : { number, since: at, until, over };
  const count = `${number} of ${mostReboots}`;
  const deployment: DeploymentState = {
    ...withAcceptance(run.deployment, input),
    started_at: started_at ?? at,
    deadline: until,
    reboot,
    reason: over ? `Runs on ${host.name}, after reboot ${count}` : `${host.name} reboots for it (${count})`,
  };
  const isFirst = started_at === null;
  const message = `${deployment.name} runs on ${host.name}`;
  return {
    effect: 'reboots',
    run: { ...run, deployment },
    events: isFirst ? [{ step: 'started', deployment }] : [],
    ...(isFirst && !run.response && { response: { status: 'in progress', message } }),
    lookAt: dueAt,
  };
}

/** The host has the limit of a boot again. */
function reset(run: RunDocument, { now }: RunTools): RunDecision {
  const { reboot, request, host_name } = run.deployment;
  if (!reboot || !request) throw new Error('The table of transitions resets a host that does not reboot.');
  const lookAt = Math.min(Date.parse(request.deadline), now + rebootLimitMs(request.options));
  const until = new Date(lookAt).toISOString();
  const reason = `${host_name} was reset by its BMC, because it was not back from its reboot (${reboot.number} of ${mostReboots})`;
  const late = { ...reboot, until, reset_at: new Date(now).toISOString() };
  const deployment: DeploymentState = { ...run.deployment, deadline: until, reboot: late, reason };
  return { effect: 'reboots', run: { ...run, deployment }, events: [], lookAt };
}

function noted(run: RunDocument, input: RunInput): RunDocument {
  if (input.kind === 'cancelled' || input.kind === 'withdrawn') return { ...run, cancelled: input.fence };
  return { ...run, deployment: { ...run.deployment, collected: true } };
}

const stepOf = { COMPLETE: 'completed', FAILED: 'failed', SKIPPED: 'skipped' } as const;

function ended(
  run: RunDocument,
  { effect, ending }: { effect: 'ends' | 'stops'; ending: RunEnding },
  { now }: RunTools,
): RunDecision {
  const { status, reason, failure, change, startedAt } = ending;
  const before = run.deployment;
  const deployment: DeploymentState = {
    ...before,
    ...change,
    status,
    reason,
    failure,
    applied: status === 'COMPLETE' ? before.digest : before.applied,
    finished_at: change?.finished_at ?? new Date(now).toISOString(),
    waiting_for: [],
    ...(before.after && { after: [] }),
  };
  return {
    effect,
    run: {
      ...run,
      deployment,
      status,
      ...(run.awaits != null && { awaits: null }),
      ...(run.unwaited != null && { unwaited: null }),
      removed_at: run.action === 'delete' && status === 'COMPLETE' ? now : run.removed_at,
    },
    events: [
      ...(startedAt === undefined
        ? []
        : [{ step: 'started', deployment: { ...before, started_at: startedAt } } as const]),
      { step: stepOf[status], deployment },
    ],
    // If the engine does not wait for the host, the request was answered when it was queued.
    ...(!run.response && { response: finalResponse(deployment) }),
    queue: effect === 'stops' ? 'stop' : 'remove',
    settles: true,
  };
}

function finalResponse(deployment: DeploymentState) {
  const attributes = attributesOf(deployment);
  const { failure } = deployment;
  return failure
    ? ({ status: 'failed', error: failure, attributes } as const)
    : ({ status: 'complete', attributes } as const);
}
