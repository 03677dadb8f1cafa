/**
 * The configuration service of the simulated world, around the decisions about runs: documents, the queue of one host,
 * claims, and the death of its process between the record of a decision and its consequences.
 */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { emptyConfig } from '@anneal/configuration/configs/derive.ts';
import type { DeploymentState, HostDocument, MessageDocument } from '@anneal/configuration/collections.ts';
import { decideRun, type RunDecision } from '@anneal/configuration/deployments/decisions/decide.ts';
import { skippedAfter, type RunTools } from '@anneal/configuration/deployments/decisions/endings.ts';
import type { RunDocument, RunInput, RunInputKind } from '@anneal/configuration/deployments/decisions/run-inputs.ts';
import { limitOfRun } from '@anneal/configuration/deployments/decisions/run-limits.ts';
import { isInProgress, stateOfRun } from '@anneal/configuration/deployments/decisions/run-states.ts';
import type { PendingRequest, RequestAction, ResourceDocument } from '@anneal/convergence/documents.ts';
import { must } from '@anneal/convergence/simulation/checks/ledger.ts';
import { successResponse } from '@anneal/convergence/simulation/model.ts';
import type { LatestProvider, TimedProviderWorld } from '@anneal/convergence/simulation/providers.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';

/** The host of all runs. */
export const simulatedHost = { id: 'host', name: 'host', project: 'p', status: 'up' } as HostDocument;
const secrets = createSecrets([new Uint8Array(32)]);
const queueTimeoutMs = 600_000;
const claimMs = 30_000;
/** The limit of a script, in seconds. */
const scriptSeconds = 20;

/** The death of the process of the service. */
class Died extends Error {}

/** A request in the queue of the host. */
export interface QueuedRequest {
  readonly id: string;
  readonly deployment: string;
  readonly after: readonly { readonly id: string; readonly fence: number }[];
  readonly first_at: number | undefined;
  readonly taken_at: number | undefined;
  readonly claims: number;
  readonly claimed_until: number;
}

const runIdOf = (resource: string, fence: number): string => `${resource}@${fence}`;

/** Serves requests of the engine as runs on one host. */
export class RunServer implements LatestProvider {
  /** Called when the host may have something to do. */
  wake: () => void = () => undefined;
  /** Called when the host is deleted: it stops at once. */
  hostDeleted: () => void = () => undefined;
  /** The inputs that came, as `state kind`. */
  readonly covered = new Set<string>();
  readonly #world: TimedProviderWorld;
  readonly #documents = new Map<string, RunDocument>();
  /** The resource as the engine requested it, by run. */
  readonly #requested = new Map<string, ResourceDocument>();
  /** Final answers by resource and fence: the engine gets one. */
  readonly #answers = new Map<string, ResourceResponse>();
  /** The final answers that were sent. */
  readonly #said = new Set<string>();
  #queue: QueuedRequest[] = [];
  #isDeleting = false;

  constructor(world: TimedProviderWorld) {
    this.#world = world;
  }

  serve(resource: ResourceDocument): void {
    const { fails } = this.#world.temper();
    const soon = (run: () => void): void =>
      this.#world.later(this.#world.random(6000), () => {
        // The faults may have stopped meanwhile.
        if (this.#world.temper().fails > 0) run();
      });
    if (this.#world.random(300) < fails) soon(() => this.#deleteHost());
    if (this.#world.random(100) < fails) soon(() => this.#cancelOne());
    this.deliver(() => this.#serve(resource));
  }

  cancel({ id }: ResourceDocument, fence: number): void {
    this.deliver(() => {
      const known = this.#documents.get(id);
      if (!known) return;
      if (known.fence < fence) this.#documents.set(id, { ...known, cancelled: Math.max(fence, known.cancelled ?? 0) });
      else if (known.run_id !== null) this.take(known.run_id, (run) => this.#unwanted(run, 'cancelled', fence));
    });
  }

  withdraw({ id }: ResourceDocument, fence: number): void {
    this.deliver(() => {
      const known = this.#documents.get(id);
      if (known?.fence === fence && known.run_id !== null) {
        this.take(known.run_id, (run) => this.#unwanted(run, 'withdrawn', fence));
      }
    });
  }

  #unwanted(run: RunDocument, kind: 'cancelled' | 'withdrawn', fence: number): RunInput {
    const { waiting_for, after = [] } = run.deployment;
    const comesLater = isInProgress(run) && (waiting_for.length > 0 || !this.#mayBegin({ after }, []));
    const isHeld = isInProgress(run) && this.#isClaimed(this.#queue.find((each) => each.id === run.run_id));
    return { kind, fence, comesLater, isHeld };
  }

  /** The resource as the engine requested it with this run. */
  requestedBy(run: string): ResourceDocument {
    const resource = this.#requested.get(run);
    must(resource !== undefined, `the host got the run ${run}, which no request asked for`);
    return resource;
  }

  /** True when the host must stop a run: it has ended, or another one replaced it. */
  mustStop(run: string): boolean {
    const found = this.#byRun(run);
    return !found || !isInProgress(found);
  }

  /** True when the deployments before this request have completed, as their documents or the host's answers say. */
  comesInTurn({ after }: QueuedRequest, hasSucceeded: (run: string) => boolean): boolean {
    return after.every(({ id, fence }) => {
      const before = this.#documents.get(id);
      const isCurrent = before !== undefined && before.fence >= fence;
      return isCurrent && (before.status === 'COMPLETE' || hasSucceeded(before.run_id ?? ''));
    });
  }

  /** Runs a handler of a message. When the process dies, the next one recovers, and gets the message again. */
  deliver(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      this.#world.later(this.#world.random(500), () =>
        this.deliver(() => {
          this.#recover();
          work();
        }),
      );
    }
  }

  /** Claims for the host, at most `most` requests. */
  claim(most: number): QueuedRequest[] {
    const moved = new Set<string>();
    // Its token has ended.
    if (this.#isDeleting) return [];
    for (;;) {
      const [head] = this.#queue;
      if (!head) return [];
      // The host is the only client, so it gets what it holds again.
      if (head.claims > 0 && head.taken_at === undefined && this.#isReplaced(head)) {
        this.#remove(head.id);
      } else if (this.#mayBegin(head, [])) {
        const first = this.#claimed(head, true);
        return [first, ...this.#claimRest(first, most)];
      } else if (moved.has(head.id) || this.#queue.length < 2) return [];
      else {
        moved.add(head.id);
        const { first_at: _, taken_at: _taken, ...rest } = head;
        const last = { ...rest, first_at: undefined, taken_at: undefined, claimed_until: 0 };
        this.#queue = [...this.#queue.slice(1), last];
      }
    }
  }

  /** Removes a request that the host has finished. */
  finished(run: string): void {
    this.#remove(run);
  }

  /** Takes an input to a run. True when it has ended the run. */
  take(run: string, given: RunInput | ((run: RunDocument) => RunInput)): boolean {
    const document = this.#byRun(run);
    if (!document) return false;
    const input = typeof given === 'function' ? given(document) : given;
    const decision = this.#decide(document, input);
    if (decision.run) this.#record(decision.run, decision);
    this.#perform(decision.run ?? document, decision);
    return decision.effect === 'ends' || decision.effect === 'stops';
  }

  /** Cancels a run that the engine still wants, as a program with the rights of the engine might. */
  #cancelOne(): void {
    const running = [...this.#documents.values()].filter((each) => isInProgress(each));
    const run = running[this.#world.random(running.length || 1)];
    const resource = run && this.#requested.get(run.run_id ?? '');
    if (run && resource) this.cancel(resource, run.fence);
  }

  /** Deletes the host with its queue. A host with the same name comes in its place. */
  #deleteHost(): void {
    this.#isDeleting = true;
    this.hostDeleted();
    this.deliver(() => {
      for (const { run_id, deployment, id } of this.#documents.values()) {
        if (run_id === null) continue;
        if (deployment.status === 'IN_PROGRESS' && deployment.action === 'DELETE')
          this.#world.books.physical.delete(id);
        this.take(run_id, { kind: 'host deleted', host: simulatedHost });
      }
      this.#queue = [];
      this.#isDeleting = false;
    });
  }

  /** @throws Error when a run is in progress, or a request is left */
  checkQuiet(): void {
    const open = [...this.#documents.values()].filter(isInProgress).map(({ run_id }) => run_id);
    must(open.length === 0, `the runs ${open.join(', ')} have not ended`);
    must(this.#queue.length === 0, `the requests ${this.#queue.map(({ id }) => id).join(', ')} are left in the queue`);
  }

  get #tools(): RunTools {
    return { now: this.#world.now(), secrets, gatewayUrl: 'http://anneal', queueTimeoutMs };
  }

  #decide(run: RunDocument, input: RunInput): RunDecision {
    const kind: RunInputKind = input.kind;
    this.covered.add(`${stateOfRun(run)} ${kind}`);
    return decideRun(run, input, this.#tools);
  }

  #serve(resource: ResourceDocument): void {
    const { request, id } = resource;
    const known = this.#documents.get(id);
    if (!request || (known?.fence ?? 0) > request.fence) return;
    if (known?.fence !== request.fence) {
      if (known) this.covered.add(`${stateOfRun(known)} newer request`);
      const next = this.#begun(resource, request, known);
      this.#documents.set(id, next);
      this.#die();
      this.#withdrawBefore(known, next);
    } else if (known.run_id === null) this.#answer(known);
    else this.#withdrawOthers(known);
    const document = this.#documents.get(id);
    if (document) this.#perform(document, this.#decide(document, { kind: 'put' }));
  }

  /** The document that records a new request. */
  #begun(resource: ResourceDocument, request: PendingRequest, known: RunDocument | undefined): RunDocument {
    const { fence, action } = request;
    const isRun = action === 'create' || action === 'update' || action === 'delete';
    const base = baseOf(resource, request, known);
    const answered = (ending: Partial<ResourceResponse> = {}): RunDocument => {
      const decision =
        known &&
        isInProgress(base) &&
        !known.response &&
        this.#decide({ ...base, response: goodOf(resource) }, { kind: 'overtaken' });
      return { ...(decision && decision.run ? decision.run : base), response: { ...goodOf(resource), ...ending } };
    };
    const failed = (code: string): Partial<ResourceResponse> => ({ status: 'failed', error: { code, message: code } });
    if (known?.cancelled === fence && action !== 'delete') return answered(failed('Superseded'));
    const isThere = resource.external || this.#world.books.physical.has(resource.id);
    if (!isRun) {
      if (!isThere) return answered(failed('NotFound'));
      this.#world.books.apply(resource, action, { fence, whole: true });
      return answered();
    }
    const { deployment } = base;
    const hasNeverRun =
      !known || (deployment.status === 'SKIPPED' && deployment.applied === null && deployment.started_at === null);
    if (action === 'delete' && hasNeverRun) {
      this.#world.books.apply(resource, 'delete', { fence, whole: true });
      return answered();
    }
    this.#requested.set(runIdOf(resource.id, fence), resource);
    return this.#afterThoseBefore(runOf(base, request, this.#world.now()), request, resource);
  }

  #afterThoseBefore(run: RunDocument, { after = [] }: PendingRequest, resource: ResourceDocument): RunDocument {
    const isOutdated = (other: RunDocument, fence: number): boolean => other.fence < fence;
    const others = after.map(({ id, fence }) => ({ id, fence, other: this.#documents.get(id) }));
    const failed = others.find(
      ({ other, fence }) =>
        other &&
        !isOutdated(other, fence) &&
        (other.status === 'FAILED' || other.status === 'SKIPPED' || other.response?.status === 'failed'),
    )?.other;
    if (failed) {
      const { failure, reason } = skippedAfter(run.deployment, failed);
      const deployment = { ...run.deployment, status: 'SKIPPED', reason, failure } as const;
      const response = {
        ...goodOf(resource),
        status: 'failed',
        error: { code: 'DeploymentSkipped', message: reason },
      } as const;
      return { ...run, status: 'SKIPPED', deployment, response };
    }
    const unfinished = others.filter(({ other, fence }) => !other || isOutdated(other, fence) || isInProgress(other));
    const isQueued = unfinished.every(
      ({ other, fence }) => other && !isOutdated(other, fence) && other.deployment.waiting_for.length === 0,
    );
    if (unfinished.length === 0) return run;
    const before = unfinished.map(({ id, fence }) => ({ id, fence }));
    const waiting_for = isQueued ? [] : before.map(({ id }) => id);
    return { ...run, deployment: { ...run.deployment, waiting_for, after: before } };
  }

  /** Takes the run of an earlier request out of the queue. */
  #withdrawBefore(known: RunDocument | undefined, next: RunDocument): void {
    if (known?.run_id == null || known.run_id === (isInProgress(next) ? next.run_id : null)) return;
    this.#withdraw(known.run_id);
    if (!isInProgress(next)) this.#settle(next);
  }

  /** The same for a repeat, which does not know the run before. */
  #withdrawOthers({ id, run_id }: RunDocument): void {
    for (const request of this.#queue)
      if (request.deployment === id && request.id !== run_id) this.#withdraw(request.id);
  }

  #withdraw(run: string): void {
    if (this.#isClaimed(this.#queue.find(({ id }) => id === run))) this.wake();
    else this.#remove(run);
  }

  #record(run: RunDocument, { response }: RunDecision): void {
    const final = response && response.status !== 'in progress';
    const resource = this.#requested.get(run.run_id ?? '');
    if (!final || !resource) this.#documents.set(run.id, run);
    else {
      const { attributes: _, ...bare } = goodOf(resource);
      const failed = { ...bare, status: 'failed', ...(response.error && { error: response.error }) } as const;
      this.#documents.set(run.id, { ...run, response: response.status === 'complete' ? goodOf(resource) : failed });
    }
    this.#die();
  }

  /** Performs a recorded decision, in the order of `carry-out.ts`. */
  #perform({ id, run_id }: RunDocument, { queue, lookAt, settles }: RunDecision): void {
    const run = this.#documents.get(id);
    if (!run || run.run_id !== run_id) return;
    if (lookAt !== undefined) this.#lookAt(lookAt);
    if (queue === 'put') this.#put(run);
    if (run.response) this.#answer(run);
    this.#die();
    if (run_id !== null && queue === 'remove') this.#remove(run_id);
    if (run_id !== null && queue === 'stop') this.#withdraw(run_id);
    if (settles) this.#settle(run);
  }

  #settle(ended: RunDocument): void {
    const { status } = ended;
    if (status === null || status === 'IN_PROGRESS') return;
    const kind = status === 'COMPLETE' ? 'released' : 'blocked';
    for (const { deployment, run_id } of this.#documents.values()) {
      const waits = deployment.waiting_for.includes(ended.id) || deployment.after?.some(({ id }) => id === ended.id);
      if (waits && run_id !== null && deployment.status === 'IN_PROGRESS') this.take(run_id, { kind, by: ended });
    }
  }

  /** Sends the final answer, again for a repeat. */
  #answer({ id, fence, response }: RunDocument): void {
    if (!response) return;
    const key = runIdOf(id, fence);
    const before = this.#answers.get(key);
    must(
      !before || before.status === response.status,
      `${key} was answered with ${before?.status} and ${response.status}`,
    );
    this.#answers.set(key, response);
    this.#said.add(key);
    this.#world.say(response, this.#world.random(1000));
  }

  #put({ id, run_id, deployment }: RunDocument): void {
    const now = this.#world.now();
    if (!this.#queue.some((each) => each.id === run_id)) {
      const isFirst = this.#queue.length === 0;
      const unclaimed = { taken_at: undefined, claims: 0, claimed_until: 0 };
      const { after = [] } = deployment;
      this.#queue.push({ id: run_id ?? '', deployment: id, after, first_at: isFirst ? now : undefined, ...unclaimed });
    }
    this.#lookAt(now + queueTimeoutMs);
    this.wake();
  }

  #remove(run: string): void {
    if (!this.#queue.some(({ id }) => id === run)) return;
    this.#queue = this.#queue.filter(({ id }) => id !== run);
    const [first] = this.#queue;
    if (first && first.first_at === undefined) this.#change({ ...first, first_at: this.#world.now() });
    this.wake();
  }

  #change(request: QueuedRequest): void {
    this.#queue = this.#queue.map((each) => (each.id === request.id ? request : each));
  }

  #isClaimed(request: QueuedRequest | undefined): boolean {
    return request !== undefined && request.claimed_until > this.#world.now();
  }

  #claimed(request: QueuedRequest, isFirst: boolean): QueuedRequest {
    const now = this.#world.now();
    const taken_at = isFirst ? (request.taken_at ?? now) : request.taken_at;
    const claimed = { ...request, taken_at, claims: request.claims + 1, claimed_until: now + claimMs };
    this.#change(claimed);
    if (isFirst) {
      this.#lookAt(now + 2 * scriptSeconds * 1000);
      this.#world.later(1500, () =>
        this.deliver(() => this.take(request.id, { kind: 'taken', accepted_at: new Date(now).toISOString() })),
      );
    }
    return claimed;
  }

  #claimRest(first: QueuedRequest, most: number): QueuedRequest[] {
    const batch: QueuedRequest[] = [];
    for (const request of this.#queue.slice(1, most)) {
      const isWithdrawn = request.claims > 0 && request.taken_at === undefined && this.#isReplaced(request);
      if (isWithdrawn || !this.#mayBegin(request, [first, ...batch])) break;
      batch.push(this.#claimed(request, false));
    }
    return batch;
  }

  #isReplaced({ id }: QueuedRequest): boolean {
    return this.take(id, { kind: 'claimed again' }) || this.mustStop(id);
  }

  #mayBegin({ after }: Pick<QueuedRequest, 'after'>, batch: readonly QueuedRequest[]): boolean {
    return after.every(({ id, fence }) => {
      const before = this.#documents.get(id);
      if (!before || before.fence < fence) return false;
      if (!isInProgress(before)) return before.status === 'COMPLETE';
      return batch.some((request) => request.id === before.run_id);
    });
  }

  #byRun(run: string): RunDocument | undefined {
    return [...this.#documents.values()].find(({ run_id }) => run_id === run);
  }

  #die(): void {
    if (this.#world.dies()) throw new Died();
  }

  #recover(): void {
    for (const document of this.#documents.values()) {
      if (isInProgress(document)) {
        this.#perform(document, this.#decide(document, { kind: 'put' }));
        const { waiting_for, after = [] } = document.deployment;
        for (const id of new Set([...waiting_for, ...after.map((each) => each.id)])) {
          const before = this.#documents.get(id);
          if (before) this.#settle(before);
        }
      } else {
        if (document.run_id !== null) this.#withdraw(document.run_id);
        if (!this.#said.has(runIdOf(document.id, document.fence))) this.#answer(document);
      }
    }
  }

  #lookAt(at: number): void {
    this.#world.later(Math.max(0, at - this.#world.now()), () => this.deliver(() => this.#look()));
  }

  /** Looks at the runs of the host, as its timer does. */
  #look(): void {
    const now = this.#world.now();
    for (const { run_id, deployment } of this.#documents.values()) {
      if (run_id === null || deployment.status !== 'IN_PROGRESS') continue;
      const message = this.#queue.find(({ id }) => id === run_id) as unknown as MessageDocument | undefined;
      const place = { host: simulatedHost, message, isFirst: !message || this.#queue[0]?.id === run_id };
      const dueAt = limitOfRun(deployment, place, { queueTimeoutMs });
      if (dueAt <= now) this.take(run_id, { kind: 'due', place, dueAt, isOver: true });
    }
  }
}

const goodOf = (resource: ResourceDocument): ResourceResponse => successResponse(resource);

const actionOf = (action: RequestAction): HostRequest['action'] => action.toUpperCase();

/** The document of a request that has begun nothing yet. */
function baseOf(
  resource: ResourceDocument,
  { fence, action }: PendingRequest,
  known: RunDocument | undefined,
): RunDocument {
  const { id, name, stack_id } = resource;
  return {
    id,
    project: 'p',
    stack_id,
    stack_name: stack_id,
    type: resource.type,
    name,
    kind: 'deployment',
    fence,
    action,
    asker: {} as RunDocument['asker'],
    response: null,
    config: null,
    deployment: known?.deployment ?? resting(name),
    status: known?.status ?? null,
    host_id: simulatedHost.id,
    run_id: known?.run_id ?? null,
    removed_at: null,
    outbox: [],
    unsent: false,
  };
}

const resting = (name: string): DeploymentState => ({
  name,
  host_id: simulatedHost.id,
  host_name: simulatedHost.name,
  group: 'script',
  action: 'CREATE',
  status: 'COMPLETE',
  reason: '',
  config: emptyConfig,
  input_values: {},
  actions: [],
  waits_for_answer: true,
  applied: null,
  digest: '',
  depends_on: [],
  waiting_for: [],
  request: null,
  output_values: {},
  status_code: null,
  stdout: '',
  stderr: '',
  created_at: '',
  queued_at: null,
  started_at: null,
  finished_at: null,
  deadline: null,
  failure: null,
});

function runOf(base: RunDocument, { action, deadline, fence }: PendingRequest, now: number): RunDocument {
  const run_id = runIdOf(base.id, fence);
  const at = new Date(now).toISOString();
  const request: HostRequest = {
    id: run_id,
    deployment_id: base.id,
    name: base.name,
    group: 'script',
    config: '',
    action: actionOf(action),
    inputs: [],
    outputs: [],
    options: {},
    timeout: scriptSeconds,
    deadline,
    creation_time: at,
  };
  const deployment: DeploymentState = {
    ...resting(base.name),
    action: request.action,
    applied: base.deployment.applied,
    digest: String(fence),
    status: 'IN_PROGRESS',
    request,
    created_at: base.deployment.created_at || at,
    queued_at: at,
    deadline,
  };
  return { ...base, run_id, status: 'IN_PROGRESS', deployment };
}
