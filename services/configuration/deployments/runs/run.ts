/**
 * Runs: one config on one host, from the request in the queue of the host to its answer.
 *
 * States of a deployment: IN_PROGRESS from the moment its request is recorded (it waits for the deployments it depends
 * on, then in the queue of its host, then runs; `time-limit.ts` has the limit of each phase); COMPLETE, FAILED or
 * SKIPPED when it has ended. Only a new request for the resource, which creates a new run, leaves one of these three.
 *
 * R1 A run has an id of its own, which its document records; only the answer to the latest run has an effect.
 * R2 The document changes first. Queue, timer, responses and events follow from it, and are completed after a crash.
 * R3 A run ends at most once: by its answer, its deadline, the deletion of its host, or a deployment that it depends
 *    on.
 */
import type { HostProgress, HostRequest, HostResponse } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Draft } from '@anneal/store/port.ts';
import { withoutSecrets } from '../answers/quoted.ts';
import {
  awaitedKey,
  keysAwaiting,
  type DeploymentState,
  type HostDocument,
  type MessageDocument,
  type ConfigurationResource,
} from '../../collections.ts';
import { attributesOf, outcomeOf } from '../answers/outcome.ts';
import { change } from '@anneal/store/change.ts';
import { dropMessage, firstMessage, isClaimed, messagesInOrder } from '../../queues/queue.ts';
import { putInEach } from '../../queues/put.ts';
import type { Put } from '../../queues/waiting-puts.ts';
import { hostQueue, type ResolvedQueue } from '../../queues/names.ts';
import { limitWait } from './limit-wait.ts';
import { lookBy, runsTimer, takenDueAt, waitDueAt } from './run-timer.ts';
import { respond, withEvent } from '../../respond.ts';
import { judge, noteUnexpected } from '../answers/unexpected.ts';
import { outputAddress } from '../../contents/stored-output.ts';
import { acceptedAt, hasAcceptance } from './accepted-at.ts';
import { answerDueAt } from '../../configs/time-limit.ts';
import type { RunContext } from './run-context.ts';

/** How long a message outlives the deadline, so that the deadline ends the run and not the expiry of the message. */
const messageGraceSeconds = 120;

interface OfHost {
  /** The host, if the caller has read it. */
  readonly host?: HostDocument | undefined;
}

/** Brings queue, timer and messages in line with the document. Harmless to repeat. */
export const carryOut = (context: RunContext, document: ConfigurationResource, host?: HostDocument): Promise<void> =>
  carryOutEach(context, [{ document, host }]);

/** The same for documents of different hosts, with one write of each kind. */
export async function carryOutEach(
  context: RunContext,
  runs: readonly (OfHost & { readonly document: ConfigurationResource })[],
): Promise<void> {
  const offers: (OfHost & Offer)[] = [];
  for (const { document, host } of runs) {
    const { deployment, run_id, version } = document;
    if (deployment?.status !== 'IN_PROGRESS' || run_id === null) continue;
    await faultPoint('configuration.run.recorded');
    if (deployment.waiting_for.length === 0) offers.push({ deployment, isNew: version === 1, host });
    else await lookBy(context, deployment.host_id, Date.parse(deployment.deadline ?? ''));
  }
  await offerEach(context, offers);
  await context.outbox.flushEach(runs.map(({ document }) => document));
}

interface Offer {
  readonly deployment: DeploymentState;
  /** True when no earlier call can have put its request. */
  readonly isNew: boolean;
}

/**
 * Puts the requests of runs into the queues of their different hosts, unless the queues already hold them, and sets the
 * timers of the runs.
 */
export async function offerEach(context: RunContext, offers: readonly (OfHost & Offer)[]): Promise<void> {
  const found = await Promise.all(offers.map((each) => requestFor(context, each)));
  const requests = found.filter((each) => each !== undefined);
  if (requests.length === 0) return;
  // The timers are durable before the messages, so that no host takes a request without a limit.
  const [stored] = await Promise.all([
    putInEach(
      context.queues,
      requests.map(({ put }) => put),
    ),
    context.timers().setAtLatest(requests.map(({ put, dueAt }) => runsTimer(context, put.queue.host?.id ?? '', dueAt))),
  ]);
  await Promise.all(
    requests.map(async ({ put: { queue }, isFirst, isStarted }, index) => {
      const message = stored[index]?.[0];
      if (message && !isStarted) await limitOffered(context, { queue, message, isFirst });
    }),
  );
  await context.queues.wake(...requests.map(({ put }) => put.queue));
}

/** The request of a run, and the time by which its run has to be looked at. Undefined for a host that is gone. */
async function requestFor(context: RunContext, { deployment, isNew, host: known }: OfHost & Offer) {
  const { request, started_at } = deployment;
  const isKnown = known?.id === deployment.host_id && known.status !== 'deleting';
  const host = isKnown ? known : await context.collections.hosts.get(deployment.host_id);
  if (!host || !request) return undefined;
  const queue = hostQueue(host, 'requests');
  const now = context.queues.now();
  const first = await firstMessage(context.queues, queue);
  const isFirst = first === undefined || first.id === request.id;
  const waits = started_at === null && isFirst;
  const dueAt = waits ? waitDueAt(context, request, now) : Date.parse(deployment.deadline ?? request.deadline);
  const ttl = Math.max(1, Math.ceil((Date.parse(request.deadline) - now) / 1000)) + messageGraceSeconds;
  const body = request as unknown as Json;
  const message = { id: request.id, body, ttl, ...(waits && { first_at: now }), ...afterOf(deployment) };
  const put: Put = { queue, client_id: 'anneal', messages: [message], isNew };
  return { put, dueAt, isFirst, isStarted: started_at !== null };
}

const afterOf = ({ after = [] }: DeploymentState) => (after.length > 0 ? { after } : {});

/** Sets the limit of a request that its host has taken already, or that became the first while it was put. */
async function limitOffered(
  context: RunContext,
  { queue, message, isFirst }: { queue: ResolvedQueue; message: MessageDocument; isFirst: boolean },
): Promise<void> {
  const dueAt = takenDueAt(message);
  if (dueAt !== undefined) context.acceptances.note(message);
  if (dueAt !== undefined) await lookBy(context, queue.host?.id ?? '', dueAt);
  else if (
    message.first_at === undefined &&
    (isFirst || (await firstMessage(context.queues, queue))?.id === message.id)
  )
    await limitWait(context, queue, message);
}

/**
 * Removes a superseded or ended run from the queue of its host. The host of a claimed request is asked to stop it: it
 * waits for that at its queue, which this wakes. The request stays until the host answers, so that the next config begins
 * after the script has ended.
 */
export async function withdraw(
  context: RunContext,
  options: { run_id: string; host_id: string; even_claimed: boolean; host?: HostDocument | undefined },
): Promise<void> {
  const { run_id, host_id, even_claimed } = options;
  const host = options.host?.id === host_id ? options.host : await context.collections.hosts.get(host_id);
  const queue = host && hostQueue(host, 'requests');
  const message = even_claimed || !queue ? undefined : await context.collections.messages.get(run_id);
  if (queue && message && isClaimed(message, context.queues.now())) await context.queues.wake(queue);
  else if (queue) await dropMessage(context.queues, queue, run_id);
}

/** The runs of a deployment whose requests are in the queue of this host. */
export async function queuedRuns(
  context: RunContext,
  { host_id, deployment }: { host_id: string; deployment: string },
): Promise<string[]> {
  const host = await context.collections.hosts.get(host_id);
  const runs: string[] = [];
  if (!host) return runs;
  for await (const { id, body } of messagesInOrder(context.queues, hostQueue(host, 'requests'))) {
    const request = body as unknown as Partial<HostRequest>;
    if (request.id === id && request.deployment_id === deployment) runs.push(id);
  }
  return runs;
}

export async function byRun(
  context: Pick<RunContext, 'collections'>,
  runId: string,
): Promise<ConfigurationResource | undefined> {
  const [document] = await context.collections.resources.find({ where: { run_id: runId }, limit: 1 });
  return document;
}

export interface Ending {
  readonly status: 'COMPLETE' | 'FAILED' | 'SKIPPED';
  readonly reason: string;
  readonly failure: Failure | null;
  readonly change?: Partial<DeploymentState>;
  /** True when the host may still run it: its request stays in the queue until the host has stopped it. */
  readonly isStopped?: true;
  /** True when the host is known to have taken the request, so that the time of that is worth a read. */
  readonly isAccepted?: boolean;
  /** When the host started it, if only its answer reports the start. */
  readonly startedAt?: string;
}

/** Documents that the caller of {@link finishRun} has read, so that it need not read them again. */
interface KnownOfRun {
  readonly document?: ConfigurationResource | undefined;
  readonly host?: HostDocument;
}

/** Ends a run, once. False when it had ended before, or was superseded. */
export async function finishRun(
  context: RunContext,
  runId: string,
  decide: (
    deployment: DeploymentState,
    document: ConfigurationResource,
  ) => Ending | undefined | Promise<Ending | undefined>,
  known: KnownOfRun = {},
): Promise<boolean> {
  const { resources } = context.collections;
  let inHand = known.document?.run_id === runId ? known.document : undefined;
  let ending: Ending | undefined;
  const { document, changed } = await change(
    resources,
    async () => {
      const found = inHand ?? (await byRun(context, runId));
      inHand = undefined;
      return found;
    },
    async (current) => {
      const before = current.deployment;
      if (before?.status !== 'IN_PROGRESS') return undefined;
      ending = await decide(before, current);
      if (!ending) return undefined;
      return endedDocument(context, current, await withAcceptance(context, runId, before, ending), ending);
    },
  );
  if (!document) return false;
  if (!changed) {
    if (document.deployment?.status === 'IN_PROGRESS') return false;
    // A repeat: complete the steps that the first attempt may have missed.
    await context.outbox.flush(document);
    await settleDependents(context, document);
    return false;
  }
  context.acceptances.settle(runId);
  await faultPoint('configuration.run.ended');
  await Promise.all([
    context.outbox.flush(document),
    withdraw(context, {
      run_id: runId,
      host_id: document.deployment?.host_id ?? '',
      even_claimed: ending?.isStopped !== true,
      host: known.host,
    }),
  ]);
  await settleDependents(context, document);
  return true;
}

/** Adds when the host took the request, unless that is recorded, or not known. */
async function withAcceptance(
  context: RunContext,
  runId: string,
  deployment: DeploymentState,
  { isAccepted = false }: Pick<Ending, 'isAccepted'>,
): Promise<DeploymentState> {
  if (hasAcceptance(deployment)) return deployment;
  const accepted_at = isAccepted ? await acceptedAt(context, runId) : context.acceptances.timeOf(runId);
  return accepted_at === undefined ? deployment : { ...deployment, accepted_at };
}

const stepOf = { COMPLETE: 'completed', FAILED: 'failed', SKIPPED: 'skipped' } as const;

function endedDocument(
  context: RunContext,
  current: ConfigurationResource,
  before: DeploymentState,
  ending: Ending,
): Draft<ConfigurationResource> {
  const document = { ...current, outbox: context.outbox.rest(current) };
  const now = context.service.now().toISOString();
  const { startedAt } = ending;
  const { outbox } =
    startedAt === undefined
      ? document
      : withEvent(
          context,
          { ...document, deployment: { ...before, started_at: startedAt } },
          'started',
          document.version + 1,
        );
  const deployment: DeploymentState = {
    ...before,
    ...ending.change,
    status: ending.status,
    reason: ending.reason,
    failure: ending.failure,
    applied: ending.status === 'COMPLETE' ? before.digest : before.applied,
    finished_at: ending.change?.finished_at ?? now,
    waiting_for: [],
    ...(before.after && { after: [] }),
  };
  const ended = withEvent(
    context,
    {
      ...document,
      outbox,
      deployment,
      status: ending.status,
      ...(document.awaits != null && { awaits: null }),
      ...(document.unwaited != null && { unwaited: null }),
      removed_at: document.action === 'delete' && ending.status === 'COMPLETE' ? Date.parse(now) : document.removed_at,
    },
    stepOf[ending.status],
    document.version + 1,
  );
  // If the engine does not wait for the host, the request was answered when it was queued.
  if (document.response) return ended;
  const attributes = attributesOf(deployment);
  return ending.failure
    ? respond(context, ended, { status: 'failed', error: ending.failure, attributes })
    : respond(context, ended, { status: 'complete', attributes });
}

/** The answer, with the address of each output that the host sent as bytes as its value. */
const withLinks = (
  { service: { gatewayUrl } }: RunContext,
  { id }: ConfigurationResource,
  response: HostResponse,
): HostResponse => {
  const links = (response.stored ?? []).map((name) => [name, outputAddress({ gatewayUrl, deployment: id, name })]);
  return { ...response, outputs: { ...response.outputs, ...(Object.fromEntries(links) as JsonObject) } };
};

/**
 * Ends a run with the answer of its host. A late, repeated or unknown answer changes nothing.
 * @param by.found the document of the run, if the caller has read it
 */
export async function answerRun(
  context: RunContext,
  { host, found }: { host: HostDocument; found?: ConfigurationResource | undefined },
  response: HostResponse,
): Promise<boolean> {
  const decide = (deployment: DeploymentState, document: ConfigurationResource): Ending | undefined => {
    if (deployment.host_id !== host.id) return undefined;
    const { secrets } = context.service;
    const { shown, stdout, redact, seal } = withoutSecrets(secrets, deployment, withLinks(context, document, response));
    const outcome = outcomeOf(deployment, shown);
    const { started_at: startedAt } = response;
    return {
      ...(startedAt !== undefined && deployment.started_at === null && { startedAt }),
      isAccepted: true,
      status: outcome.status,
      reason: redact(outcome.reason),
      failure: redact(outcome.failure),
      change: {
        output_values: Object.fromEntries(
          Object.entries(outcome.output_values).map(([name, value]) => [name, seal(value)]),
        ),
        status_code: response.status_code,
        stdout,
        stderr: shown.stderr,
        started_at: response.started_at ?? deployment.started_at ?? document.deployment?.queued_at ?? null,
        ...(response.finished_at !== undefined && { finished_at: response.finished_at }),
      },
    };
  };
  const ended = await finishRun(context, response.id, decide, { document: found, host });
  // Also remove the request of an obsolete run from the head of the queue, because the host is done with it.
  if (!ended) {
    const document = await byRun(context, response.id);
    const judged = await judge(context, host, { id: response.id, response, document });
    if (judged) await noteUnexpected(context, host, { id: response.id, found: judged });
    await dropOwn(context, host, response.id);
  }
  return ended;
}

/** Removes a request that the host has finished from its own queue. Never touches the queue of another host. */
async function dropOwn(context: RunContext, host: HostDocument, id: string): Promise<void> {
  const queue = hostQueue(host, 'requests');
  const message = await context.collections.messages.get(id);
  if (message?.queue === queue.id) await dropMessage(context.queues, queue, id);
}

export async function noteProgress(context: RunContext, host: HostDocument, progress: HostProgress): Promise<void> {
  const { resources } = context.collections;
  const runsHere = (deployment: ConfigurationResource['deployment'] | undefined): deployment is DeploymentState =>
    deployment?.status === 'IN_PROGRESS' && deployment.host_id === host.id;
  let dueAt = 0;
  const { document, changed } = await change(
    resources,
    () => byRun(context, progress.id),
    async (current) => {
      const { deployment } = current;
      if (!runsHere(deployment) || progress.progress !== 'started' || deployment.started_at !== null) return undefined;
      const now = context.queues.now();
      const latest = Date.parse(deployment.deadline ?? '');
      // The clock of the host may be wrong, so the limit counts from now.
      dueAt = deployment.request ? answerDueAt(deployment.request, now, latest) : latest;
      const running: DeploymentState = {
        ...(await withAcceptance(context, progress.id, deployment, { isAccepted: true })),
        started_at: progress.at ?? new Date(now).toISOString(),
        deadline: new Date(dueAt).toISOString(),
        reason: `Runs on ${host.name}`,
      };
      const rest = { ...current, outbox: context.outbox.rest(current), deployment: running };
      const started = withEvent(context, rest, 'started', current.version + 1);
      return current.response
        ? started
        : respond(context, started, { status: 'in progress', message: `${deployment.name} runs on ${host.name}` });
    },
  );
  if (!runsHere(document?.deployment)) {
    const found = await judge(context, host, { id: progress.id, document });
    if (found) await noteUnexpected(context, host, { id: progress.id, found });
  }
  if (!changed || !document) return;
  context.acceptances.settle(progress.id);
  await lookBy(context, host.id, dueAt);
  await context.outbox.flush(document);
}

/**
 * Ends the runs of a host that is being deleted, and asks it to stop the one that it runs. No answer will come. A DELETE
 * completes: nothing is left to undo.
 */
export async function abandonRuns(context: RunContext, host: HostDocument): Promise<void> {
  const waiting = await context.collections.resources.find({ where: { host_id: host.id, status: 'IN_PROGRESS' } });
  for (const { run_id } of waiting) {
    if (run_id === null) continue;
    await finishRun(context, run_id, (deployment) => {
      if (deployment.action === 'DELETE') {
        return { status: 'COMPLETE', reason: 'The host was deleted.', failure: null, isStopped: true };
      }
      const error = new AnnealError(
        'DeploymentFailed',
        `Deployment to server failed: host ${host.name} was deleted before it answered.`,
        { details: { host: host.name, host_id: host.id, deployment: deployment.name, action: deployment.action } },
      );
      return { status: 'FAILED', reason: error.message, failure: toFailure(error), isStopped: true };
    });
  }
}

/**
 * Offers or skips the deployments in the same stack that depend on the deployment that has just ended, or wakes the
 * context that it belongs to.
 */
export async function settleDependents(context: RunContext, ended: ConfigurationResource): Promise<void> {
  const { status, stack_id } = ended;
  if (status === null || status === 'IN_PROGRESS') return;
  if (ended.parent) {
    context.wakeContext(ended.parent);
    return;
  }
  // Only deployments of a stack depend on each other.
  if (stack_id === '') return;
  const others = await context.collections.resources.find({
    where: { awaits: { in: keysAwaiting(ended) } },
  });
  for (const other of others) {
    if (other.status !== 'IN_PROGRESS' || other.run_id === null) continue;
    if (!waitsFor(other.deployment, ended)) continue;
    if (status === 'COMPLETE') {
      if (other.deployment?.waiting_for.includes(ended.id)) await waitNoMore(context, other.id, ended.id);
    } else await finishRun(context, other.run_id, (deployment) => skipping(deployment, ended));
  }
}

/** False for a run that waits for a newer request of this deployment. */
function waitsFor(deployment: DeploymentState | null, { id, fence }: ConfigurationResource): boolean {
  const before = deployment?.after?.find((each) => each.id === id);
  return before ? before.fence <= fence : deployment?.waiting_for.includes(id) === true;
}

export function skipping(
  deployment: Pick<DeploymentState, 'name' | 'host_id' | 'host_name'>,
  cause: ConfigurationResource,
): Ending {
  const error = new AnnealError(
    'DeploymentSkipped',
    `${deployment.name} was not run: ${cause.deployment?.name ?? cause.name}, which it depends on, ${
      cause.status === 'SKIPPED' ? 'was skipped' : 'failed'
    }: ${cause.deployment?.reason ?? cause.response?.error?.message ?? ''}`,
    {
      details: {
        host: deployment.host_name,
        host_id: deployment.host_id,
        deployment: deployment.name,
        depends_on: cause.id,
      },
    },
  );
  return { status: 'SKIPPED', reason: error.message, failure: toFailure(error) };
}

async function waitNoMore(context: RunContext, id: string, done: string): Promise<void> {
  const { document, changed } = await change(context.collections.resources, id, ({ deployment, ...current }) => {
    if (!deployment?.waiting_for.includes(done)) return undefined;
    const waiting_for = deployment.waiting_for.filter((other) => other !== done);
    const outbox = context.outbox.rest(current);
    const awaits = awaitedKey(current.stack_id, waiting_for);
    const { after: _, ...rest } = deployment;
    const next = waiting_for.length === 0 ? { ...rest, waiting_for } : { ...deployment, waiting_for };
    return { ...current, outbox, unsent: outbox.length > 0, awaits, deployment: next };
  });
  if (changed && document) await carryOut(context, document);
}
