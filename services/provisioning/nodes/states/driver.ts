/**
 * Carries out the work of nodes.
 *
 * D1 The document alone determines the next step, so a process that starts can continue the work of every node.
 * D2 Before a step begins, a durable timer is set for after its end. If this process dies, another one continues.
 * D3 An outcome is written only over the work it belongs to. After an abort, or in a second process, it is dropped.
 * D4 Work ends: each state has a deadline, after which it fails with its last error.
 * D5 A step whose work was aborted, here or in another process, is interrupted, so that the controller is free.
 * D6 A process begins few steps at once: more would not be faster, and their documents and connections fill its memory. A step
 *    that waits long for its controller gives its place to the next, and a step that has failed is repeated in a lane of its own,
 *    so dead controllers do not delay other nodes.
 * D7 Heartbeats are lost while no process takes them, so a process that starts waits for some before it fails a machine that seems
 *    to make no progress.
 */
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Timers } from '@anneal/store/timers.ts';
import type { Bmcs } from '../../bmcs.ts';
import {
  withoutWarning,
  withWarning,
  type NodeDocument,
  type NodeChange,
  type NodeWork,
} from '../../documents/node.ts';
import { identityChange } from '../../documents/faults.ts';
import {
  awaitsHeartbeat,
  deadlineOfNextStart,
  lateFailure,
  move,
  renewedWork,
  type Budgets,
  type MoveContext,
} from './moves.ts';
import type { NodeRecords } from '../../documents/records.ts';
import { failedStates, stepAfter, type Verb } from '../../documents/states.ts';
import { provisioningTimers } from '../../documents/timers.ts';
import { TaskLane } from './lane.ts';
import { isHopeless, type createSteps } from './steps.ts';
import { UnwantedStep, type StepOutcome, type Settled } from './step-outcome.ts';
import { SingleFlight } from '@anneal/runtime/work/serial.ts';

export interface NodeDriverOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly steps: ReturnType<typeof createSteps>;
  readonly bmcs: Bmcs;
  readonly timers: () => Timers;
  readonly budgets: Budgets;
}

const timerOf = (node: string) => ({ kind: 'node', node }) as const;
/** Longer than the longest step, which takes a few turns at the controller. */
const watchMs = 150_000;
/** D6. The places in each lane, and after how long a step gives its place away. */
const stepsAtOnce = 64;
const longMs = 5_000;
/** D7. Machines send a heartbeat in 10 seconds. */
const graceMs = 60_000;
/** D5. How often a long step checks that its work was not aborted. */
const lookMs = 2_000;

export class NodeDriver {
  readonly #options: NodeDriverOptions;
  readonly #flights: SingleFlight;
  readonly #startedAt: number;
  readonly #lanes = { well: new TaskLane(stepsAtOnce), suspect: new TaskLane(stepsAtOnce) };

  constructor(options: NodeDriverOptions) {
    this.#options = options;
    this.#startedAt = options.context.now().getTime();
    this.#flights = new SingleFlight({
      run: (id) => this.#drive(id),
      onError: (error, id) => options.context.log.error({ err: error, node: id }, 'step of a node failed; retrying'),
    });
  }

  get moment(): MoveContext {
    const { context, budgets } = this.#options;
    return { now: context.now().getTime(), newId: context.newId, budgets };
  }

  /** Interrupts the work in progress, and starts the work of the new document at once. */
  cut(id: string): void {
    this.#options.bmcs.cut(id, new UnwantedStep());
    this.kick(id);
  }

  /** Checks the node for work. */
  kick(id: string): void {
    this.#flights.kick(id);
  }

  async resumeAll(): Promise<void> {
    for (const node of await this.#options.records.all()) if (node.work) this.kick(node.id);
  }

  stop(): Promise<void> {
    return this.#flights.stop();
  }

  /** @throws AnnealError Conflict when the state of the node does not allow the verb; NotFound. */
  async apply(id: string, verb: Verb, options: { reason: string; change?: NodeChange }): Promise<NodeDocument> {
    const moved = await this.#options.records.change(id, (node) =>
      move(node, verb, { moment: this.moment, ...options }),
    );
    if (!moved) throw new AnnealError('NotFound', `There is no node ${id}.`);
    this.cut(id);
    return moved;
  }

  async #drive(id: string): Promise<void> {
    const watch = { isSet: false, isSuspect: false };
    let more = true;
    while (more && !this.#flights.stopping) {
      const lane = watch.isSuspect ? this.#lanes.suspect : this.#lanes.well;
      more = await lane.run(() => this.#advance(id, watch), { longMs });
    }
  }

  /** Does the next step of a node. False when none is due. */
  async #advance(id: string, watch: { isSet: boolean; isSuspect: boolean }): Promise<boolean> {
    const { records, steps } = this.#options;
    const node = await records.get(id);
    if (!node?.work) {
      if (watch.isSet) await this.#options.timers().cancel([provisioningTimers.idOf(timerOf(id))]);
      return false;
    }
    const { work } = node;
    const now = this.moment.now;
    watch.isSuspect = work.attempts > 0;
    // The time of the state begins when the node has a slot.
    if (now >= work.deadline && work.step !== 'await slot') {
      const heardAt = this.#startedAt + graceMs;
      if (now < heardAt && awaitsHeartbeat(node)) {
        await this.#setTimer(id, heardAt);
        return false;
      }
      await this.#write(node, (current) => this.#failed(current, lateFailure(current, this.moment)));
      return true;
    }
    if (work.next_at > now) {
      await this.#setTimer(id, work.step === 'await slot' ? work.next_at : Math.min(work.next_at, work.deadline));
      return false;
    }
    if (!watch.isSet) await this.#setTimer(id, now + watchMs);
    watch.isSet = true;
    await faultPoint(`provisioning.step.${work.step}`);
    let decide: (current: NodeDocument) => NodeChange;
    try {
      const outcome = await this.#whileWanted(node, () => steps[work.step](node));
      decide = (current) => this.#after(current, outcome);
    } catch (error) {
      // The stop of this service interrupted the step, which is not a failure. The next process repeats the step.
      if (this.#flights.stopping) return false;
      if (error instanceof UnwantedStep) return true;
      this.#options.context.log.warn(
        { err: error, node: node.name, step: work.step, attempt: work.attempts + 1 },
        'step failed',
      );
      decide = (current) => this.#afterError(current, error);
    }
    await this.#write(node, decide);
    return true;
  }

  /** D5 */
  async #whileWanted<T>(node: NodeDocument, step: () => Promise<T>): Promise<T> {
    const { records, bmcs } = this.#options;
    const look = setInterval(() => {
      records
        .get(node.id)
        .then((current) => (current?.work?.id === node.work?.id ? undefined : bmcs.cut(node.id, new UnwantedStep())))
        // The store is briefly unavailable. The step continues.
        .catch(() => undefined);
    }, lookMs);
    try {
      return await step();
    } finally {
      clearInterval(look);
    }
  }

  /** D3. Does not write a wait over a node that changed since it was read. The node is checked again instead. */
  async #write(seen: NodeDocument, decide: (current: NodeDocument) => NodeChange): Promise<void> {
    await this.#options.records.change(seen.id, (current) => {
      if (current.work?.id !== seen.work?.id || current.work?.step !== seen.work?.step) return undefined;
      const change = decide(current);
      const waits = change.work && change.work.next_at > this.moment.now;
      return waits && current.version !== seen.version && !change.last_error ? undefined : change;
    });
  }

  #after(node: NodeDocument, outcome: StepOutcome): NodeChange {
    const { work } = node;
    if (!work) return {};
    // The boot may have changed while the step ran (a fetch, an answer), and is then newer than the step's copy.
    const change = outcome.change && withNewerBoot(outcome.change, node);
    const warned = outcome.kind === 'next' ? warningsAfter(node, outcome.settled) : {};
    switch (outcome.kind) {
      case 'wait':
        return {
          ...change,
          work: { ...work, attempts: 0, next_at: this.moment.now + Math.max(outcome.ms, 1) },
          last_error: null,
        };
      case 'again':
        return {
          ...change,
          work: { ...work, attempts: 0, next_at: 0, ...(outcome.startsAgain && this.#startsAgain(node)) },
        };
      case 'rest':
        return { ...change, work: null, ...(failedStates.includes(node.state) ? {} : { last_error: null }) };
      case 'hold':
        return move(node, 'hold', { moment: this.moment, reason: outcome.reason, change: outcome.change });
      case 'end':
        return move(node, outcome.verb, { moment: this.moment, reason: outcome.reason, change: outcome.change });
      case 'next': {
        const next = outcome.to ?? stepAfter(node.state, work.step);
        if (next !== undefined) {
          const begun = outcome.renewed ? renewedWork(node, this.moment) : {};
          const onwards = { ...work, ...begun, step: next, attempts: 0, next_at: 0 };
          return { ...change, ...warned, work: onwards, last_error: null };
        }
        // The server is deleted as soon as no part of it runs.
        const unbound =
          node.state === 'deleting'
            ? { ...unclaimed, instance_info: {}, instance_notes: {}, facts: {}, origin: null }
            : {};
        return move(node, outcome.verb ?? 'done', {
          moment: this.moment,
          reason: outcome.reason ?? `${work.step} is done`,
          change: { ...change, ...warned, ...unbound },
        });
      }
    }
  }

  #startsAgain(node: NodeDocument): Partial<NodeWork> {
    const deadline = deadlineOfNextStart(node, this.moment);
    return deadline === undefined ? {} : { deadline };
  }

  #afterError(node: NodeDocument, error: unknown): NodeChange {
    const { work } = node;
    if (!work) return {};
    const failure = toFailure(error);
    const other = identityChange(node, error, new Date(this.moment.now));
    if (isHopeless(node, error)) return { ...this.#failed(node, failure), ...other };
    const attempts = work.attempts + 1;
    const pause = Math.min(30_000, 500 * 2 ** Math.min(attempts, 6)) * (0.75 + Math.random() / 2);
    const last_error = work.step === 'change power' ? afterPowerFailure(node, failure) : failure;
    return { work: { ...work, attempts, next_at: this.moment.now + pause }, last_error };
  }

  #failed(node: NodeDocument, failure: Failure): NodeChange {
    if (node.work?.step === 'change power')
      return { work: null, power_target: null, last_error: afterPowerFailure(node, failure) };
    return move(node, 'fail', { moment: this.moment, reason: failure.message, failure });
  }

  #setTimer(id: string, dueAt: number): Promise<void> {
    return this.#options.timers().set([provisioningTimers.at(timerOf(id), dueAt)]);
  }
}

/** No server, client or allocation has the node. */
const unclaimed = { instance_id: null, reserved: false, allocation_id: null } as const;

const powerAlso = ' Also, its power could not be changed: ';

/** The error of a node whose power could not be changed. That of a state after a failure stays. Pure. */
export function afterPowerFailure({ state, last_error: last }: NodeDocument, failure: Failure): Failure {
  if (last === null || !failedStates.includes(state)) return failure;
  return {
    ...last,
    message: `${last.message.split(powerAlso)[0]}${powerAlso}${failure.message.split(powerAlso).at(-1)}`,
  };
}

function withNewerBoot(change: NodeChange, node: NodeDocument): NodeChange {
  const { boot } = change;
  if (!boot || !node.boot || boot.secret_hash !== node.boot.secret_hash) return change;
  const { fetched_at, load, exchanged_at, key_hash, refused_at, returned_at, answered_at, report, heartbeat } =
    node.boot;
  const { load: _load, heartbeat: _heartbeat, ...rest } = boot;
  const commanded_at = node.boot.commanded_at ?? boot.commanded_at;
  const happened = { commanded_at, fetched_at, exchanged_at, key_hash, refused_at, answered_at, report };
  const newer = {
    ...happened,
    ...(load && { load }),
    ...(heartbeat && { heartbeat }),
    ...(returned_at !== undefined && { returned_at }),
  };
  return { ...change, boot: { ...rest, ...newer } };
}

function warningsAfter(node: NodeDocument, settled: Settled | undefined): Pick<NodeChange, 'warnings'> {
  if (!settled) return {};
  return {
    warnings: 'warning' in settled ? withWarning(node, settled.warning) : withoutWarning(node, settled.clears),
  };
}
