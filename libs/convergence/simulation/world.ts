/**
 * The world around the core: stacks with their shells; providers that are slow, fail, lie, and answer twice, late, out
 * of order or never; a broker that delivers at least once; and processes that die, and try steps again. One seed
 * determines everything.
 */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Effect, Input, Outcome } from '../protocol.ts';
import { isNested, type ResourceDocument, type StackDocument } from '../documents.ts';
import { emptyPlan } from '../state.ts';
import { Books, must } from './checks/ledger.ts';
import { SimulatedBroker } from './broker.ts';
import { SimulatedClock } from './clock.ts';
import { countPair, pairKind } from './coverage.ts';
import { checkSnapshot } from './checks/deletions.ts';
import type { CheckedWorld } from './checks/checked-world.ts';
import { Unasked } from './checks/answers.ts';
import { checkStep } from './checks/invariants.ts';
import { createRandom, toolsAt, type Random, type WishType } from './model.ts';
import { answerSimulatedParent, askNested, sendToNested } from './nested-shell.ts';
import { kind, SimulatedProviders, type LatestProvider, type Temper, type TimedProviderWorld } from './providers.ts';
import { checkIndexes } from './checks/record.ts';
import {
  createShell,
  Killed,
  type Core,
  type FaultPoint,
  type Shell,
  type ShellPorts,
  type WatchedStep,
} from './shell.ts';
import { checkTimers } from './checks/timers.ts';
import { checkRepeats } from './checks/repeats.ts';
import { Readers } from './checks/hidden.ts';
import { beginTry, drawnAt, Disorder } from './tries.ts';

type Request = Extract<Effect, { kind: 'request' }>;

/** The stack without a parent. */
export const rootId = 's';

/** The parts of the world that a test may choose. */
export interface SimulationOptions {
  /** True: steps are tried once, and documents have the order in which they were written. */
  readonly isOrderly?: boolean;
  /** The types of a template, as often as each occurs. Absent: the seed chooses. */
  readonly types?: readonly WishType[];
  /** Makes the provider of the type `Latest`. Absent: the simulated providers serve it. */
  readonly latest?: (world: TimedProviderWorld) => LatestProvider;
}

/** Everything around the core. `cores` step the stacks side by side; the seed determines the run. */
export class SimulatedWorld implements CheckedWorld {
  readonly random: Random;
  readonly clock: SimulatedClock;
  readonly books = new Books();
  readonly shells = new Map<string, Shell>();
  readonly plans = new Map<string, Plan>([['0', emptyPlan()]]);
  readonly pairs = new Map<string, number>();
  readonly snapshots = new Map<string, string>();
  readonly killed = new Map<FaultPoint, number>();
  temper: Temper = { ...kind };
  /** True while no fault happened since all stacks were idle: then nothing may fail, or wait for its deadline. */
  calm = false;
  /** Hooks that were passed: by incarnation, and by traversal. */
  readonly passed = new Set<string>();
  readonly unasked = new Unasked();
  /** By stack, the names of resources that events reported as failed since its last action began. */
  readonly failed = new Map<string, Set<string>>();
  private readonly readers = new Map<string, Readers>();
  steps = 0;
  private tries = 0;
  readonly disorder: Disorder;
  private readonly hashes = new Map<string, string>();
  private readonly replaceFailed: boolean;
  readonly limit: number;
  readonly most: number;
  readonly cores: readonly Core[];
  private readonly broker: SimulatedBroker;
  private readonly around: TimedProviderWorld = {
    random: (below) => this.random(below),
    books: this.books,
    temper: () => this.temper,
    later: (delay, run) => this.clock.after(delay, run),
    say: (response, delay) => {
      const id = `response ${response.resource_id} ${response.fence}`;
      this.deliver(response.stack_id, { kind: 'response', id, response }, delay);
    },
    now: () => this.clock.now,
    dies: () => this.temper.dies > 0 && this.chance(this.temper.dies),
  };
  readonly providers = new SimulatedProviders(this.around);
  private readonly latest: LatestProvider;

  constructor(seed: number, cores: readonly Core[], { isOrderly = false, latest }: SimulationOptions = {}) {
    this.latest = latest?.(this.around) ?? this.providers;
    this.random = createRandom(seed);
    // From another source, so that an orderly seed means the same run as before.
    this.disorder = new Disorder(isOrderly ? undefined : createRandom(seed + 0x5eed));
    this.clock = new SimulatedClock(this.disorder.grain);
    this.broker = new SimulatedBroker({
      clock: this.clock,
      random: (below) => this.random(below),
      disorder: this.disorder,
      twice: () => this.temper.twice,
      take: (stack, inputs) => {
        if (this.shells.has(stack)) this.take(stack, inputs);
      },
    });
    this.cores = cores;
    this.replaceFailed = this.chance(50);
    this.limit = this.chance(30) ? 1 + this.random(3) : 1000;
    // From the seed and not from `random`, so that a seed means the same run as before.
    this.most = seed % 2 === 0 ? 1000 : 1 + (seed % 3);
  }

  chance(percent: number): boolean {
    return this.random(100) < percent;
  }

  addPlan(plan: Plan): string {
    const text = JSON.stringify(plan);
    const known = this.hashes.get(text);
    if (known !== undefined) return known;
    const hash = `plan${this.hashes.size + 1}`;
    this.hashes.set(text, hash);
    this.plans.set(hash, plan);
    return hash;
  }

  planAt(hash: string): Plan {
    const plan = this.plans.get(hash);
    must(plan !== undefined, `there is no plan ${hash}`);
    return plan;
  }

  stack(id: string): StackDocument {
    return this.shellOf(id).stored.stack;
  }

  shellOf(id: string): Shell {
    const shell = this.shells.get(id);
    must(shell !== undefined, `there is no stack ${id}`);
    return shell;
  }

  open(stack: StackDocument): void {
    this.shells.set(
      stack.id,
      createShell(
        {
          // Old and new processes side by side.
          core: () => this.cores[this.random(this.cores.length)] as Core,
          planOf: (hash) => this.planAt(hash),
          moment: () => ({ now: this.clock.now, entropy: `${(this.tries += 1)}`, results: new Map() }),
          begin: (moment) => {
            const { replaceFailed, limit, most, disorder } = this;
            return beginTry(moment, {
              tools: toolsAt(moment.now, { replaceFailed, limit, most }),
              atOnce: (resource, at) => this.providers.answerAtOnce(resource, drawnAt(at, resource)),
              disorder,
            });
          },
          inSomeOrder: (items) => this.disorder.inSomeOrder(items),
          dies: (point) => this.diesAt(point),
          carryOut: (record) => this.carryOut(record),
          watch: (step) => this.watch(step),
        },
        stack,
      ),
    );
  }

  /** Steps inputs now, and repeats until the process survives. Returns the outcome of the last try. */
  take(id: string, inputs: readonly Input[]): Outcome {
    const { temper } = this;
    // Another process takes over the shard, without a death.
    if (temper.dies > 0 && this.chance(5)) this.shellOf(id).forget();
    if (this.disorder.chance(20)) this.shellOf(id).forget();
    for (let tries = 0; ; tries += 1) {
      // After ten deaths over one message, let the process live, so that the run ends.
      if (tries > 10) this.temper = { ...temper, dies: 0 };
      try {
        const outcome = this.shellOf(id).take(inputs);
        checkTimers(this.shellOf(id).stored, (timer) => this.broker.isSet(id, timer));
        return outcome;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        for (const shell of this.shells.values()) shell.forget();
        // The message of another stack may come before this one is delivered again.
        if (this.chance(30)) this.recoverOne();
      } finally {
        if (tries > 10) this.temper = temper;
      }
    }
  }

  private recoverOne(): void {
    const shells = [...this.shells.values()];
    try {
      shells[this.random(shells.length)]?.recover();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }

  /** Runs until `until` is true, or no event is left. */
  run(until: () => boolean = () => false): void {
    for (let guard = 0; !until(); guard += 1) {
      must(guard < 50_000, 'the run does not end within 50,000 events');
      if (!this.clock.tick()) return;
    }
  }

  private diesAt(point: FaultPoint): boolean {
    if (this.temper.dies === 0 || !this.chance(this.temper.dies)) return false;
    this.killed.set(point, (this.killed.get(point) ?? 0) + 1);
    return true;
  }

  deliver(stack: string, input: Input, delay: number): void {
    this.broker.deliver(stack, input, delay);
  }

  private carryOut({ stack, effects, resources }: Parameters<ShellPorts['carryOut']>[0]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'timer':
        case 'cancel timer':
          this.broker.setTimer(stack.id, effect);
          break;
        case 'request':
          this.send(stack, resources.get(effect.resource), effect);
          break;
        case 'cancel':
          if (this.cancelLeaf(resources.get(effect.resource), effect.fence)) break;
          sendToNested(this, stack, resources.get(effect.resource), {
            kind: 'cancel',
            id: `cancel ${effect.resource} ${effect.fence}`,
          });
          break;
        case 'withdraw': {
          const resource = resources.get(effect.resource);
          if (resource)
            this.clock.after(this.random(200), () => this.providerOf(resource).withdraw(resource, effect.fence));
          break;
        }
        case 'answer':
          answerSimulatedParent(this, { stack, resources: resources.values() }, effect);
          break;
        case 'snapshot':
          checkSnapshot(this.snapshots.get(effect.snapshot.id), effect.status);
          this.snapshots.set(effect.snapshot.id, effect.status);
          break;
        case 'signal': {
          const resource = resources.get(effect.resource);
          if (resource && !isNested(resource)) this.providers.signal(resource, resource.fence);
        }
      }
    }
  }

  /** Passes the cancellation of a request to its provider. False for a nested stack. */
  private cancelLeaf(resource: ResourceDocument | undefined, fence: number): boolean {
    if (!resource || isNested(resource)) return false;
    this.clock.after(this.random(200), () => this.providerOf(resource).cancel(resource, fence));
    return true;
  }

  private send(stack: StackDocument, resource: ResourceDocument | undefined, { fence }: Request): void {
    const request = resource?.request;
    if (!request || request.fence !== fence) return;
    const delay = this.random(200);
    if (isNested(resource)) {
      this.clock.after(delay, () => askNested(this, stack, resource));
      return;
    }
    const provider = this.providerOf(resource);
    this.clock.after(delay, () => provider.serve(resource));
    if (this.chance(this.temper.twice)) this.clock.after(delay + this.random(3000), () => provider.serve(resource));
  }

  private providerOf({ type }: ResourceDocument): LatestProvider {
    return type === 'Latest' ? this.latest : this.providers;
  }

  private watch(step: WatchedStep): void {
    this.steps += 1;
    const { refusals, changes } = step.outcome;
    for (const resource of step.attempt.answered)
      this.providers.haveAnswered(resource, drawnAt(step.attempt.moment, resource));
    for (const input of step.inputs) {
      if (input.kind === 'response')
        this.unasked.note(input.response, this.shellOf(step.before.id).stored, step.state.stack.traversal);
      const became = refusals.has(input.id) ? 'refused' : changes.dirty ? 'taken' : 'nothing';
      countPair(this.pairs, `${step.before.phase} ${pairKind(input)}`, became);
    }
    checkIndexes(step.state, this.cores[0] as Core);
    // Two versions of the core may name things differently.
    if (this.cores.length === 1) checkRepeats(step, step.discarded, this.limit < 1000 || this.most < 1000);
    checkStep(this, step);
    // A step may begin an update and roll it back.
    const given = step.inputs.flatMap((input) => ('plan' in input ? [input.plan] : []));
    this.readersOf(step.before.id).check(step.outcome, [step.state.plan, ...given]);
  }

  private readersOf(stack: string): Readers {
    const found = this.readers.get(stack) ?? new Readers();
    this.readers.set(stack, found);
    return found;
  }
}
