/**
 * The world around the core: stacks with their shells, providers that are slow, fail, lie, answer twice, late, out of order
 * or never, a broker that delivers at least once, and processes that die. Everything follows from one seed.
 */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { Effect, Input, Outcome } from '../protocol.ts';
import { isNested, type ResourceDocument, type StackDocument } from '../documents.ts';
import { emptyPlan, type State } from '../state.ts';
import { Books, must } from './books.ts';
import { Clock } from './clock.ts';
import { checkStep } from './invariants.ts';
import { createRandom, goodResponse, nestedPlan, newStack, outputOf, targetOf, toolsAt, type Random } from './model.ts';
import { createShell, Killed, type Core, type FaultPoint, type Shell } from './shell.ts';

export interface Temper {
  /** Percent of requests that go wrong in some way. */
  fails: number;
  /** Percent of messages that come twice. */
  twice: number;
  /** Percent of fault points at which the process dies. */
  dies: number;
}

export const kind: Temper = { fails: 0, twice: 0, dies: 0 };

type Request = Extract<Effect, { kind: 'request' }>;
type Look = (id: string) => ResourceDocument | undefined;

export class World {
  readonly random: Random;
  readonly clock = new Clock();
  readonly books = new Books();
  readonly shells = new Map<string, Shell>();
  readonly plans = new Map<string, Plan>([['0', emptyPlan()]]);
  readonly pairs = new Map<string, number>();
  readonly snapshots = new Map<string, string>();
  readonly killed = new Map<FaultPoint, number>();
  temper: Temper = { ...kind };
  steps = 0;
  private readonly hashes = new Map<string, string>();
  private readonly fences = new Map<string, number>();
  private readonly answers = new Map<string, ResourceResponse>();
  private readonly replaceFailed: boolean;
  readonly limit: number;
  readonly cores: readonly Core[];
  /** Scripts say: everything fails; every check finds something else than was applied; nothing is answered. */
  failing = false;
  drifting = false;
  silent = false;

  constructor(seed: number, cores: readonly Core[]) {
    this.random = createRandom(seed);
    this.cores = cores;
    this.replaceFailed = this.chance(50);
    this.limit = this.chance(30) ? 1 + this.random(3) : 1000;
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
          toolsAt: () =>
            toolsAt(this.clock.now, {
              replaceFailed: this.replaceFailed,
              limit: this.limit,
              atOnce: ({ resource }) => this.answerAtOnce(resource),
            }),
          dies: (point) => this.diesAt(point),
          carryOut: (record) => this.carryOut(record),
          watch: (step) => this.watch(step),
        },
        stack,
      ),
    );
  }

  /** Takes inputs now, however often the process dies over them. The last one that was refused, if any. */
  take(id: string, inputs: readonly Input[]): Outcome {
    const { temper } = this;
    // Another process takes the shard over, without anyone having died.
    if (temper.dies > 0 && this.chance(5)) this.shellOf(id).forget();
    for (let tries = 0; ; tries += 1) {
      // A process that died ten times over one message is left alone: this is no test of patience.
      if (tries > 10) this.temper = { ...temper, dies: 0 };
      try {
        return this.shellOf(id).take(inputs);
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        for (const shell of this.shells.values()) shell.forget();
        // Nobody waits for the message to come again: another stack's may come first.
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

  /** Runs on until nothing more will happen, or until then. */
  run(until: () => boolean = () => false): void {
    for (let guard = 0; !until(); guard += 1) {
      must(guard < 50_000, 'it never ends');
      if (!this.clock.tick()) return;
    }
  }

  private diesAt(point: FaultPoint): boolean {
    if (this.temper.dies === 0 || !this.chance(this.temper.dies)) return false;
    this.killed.set(point, (this.killed.get(point) ?? 0) + 1);
    return true;
  }

  private deliver(stack: string, input: Input, delay: number): void {
    const arrive = (): void => {
      if (this.shells.has(stack)) this.take(stack, [input]);
    };
    this.clock.after(delay, arrive);
    if (this.chance(this.temper.twice)) this.clock.after(delay + this.random(5000), arrive);
  }

  private carryOut({
    stack,
    effects,
    resourceOf,
  }: {
    stack: StackDocument;
    effects: readonly Effect[];
    resourceOf: Look;
  }): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'timer': {
          const { timer, traversal } = effect;
          const id = `${stack.id} ${traversal} ${timer}`;
          this.clock.setTimer(id, Date.parse(effect.at), () =>
            this.deliver(stack.id, { kind: 'timer', id: `timer ${id} ${this.clock.now}`, timer, traversal }, 0),
          );
          break;
        }
        case 'cancel timer':
          this.clock.cancelTimer(`${stack.id} ${effect.traversal} ${effect.timer}`);
          break;
        case 'request':
          this.send(stack, resourceOf(effect.resource), effect);
          break;
        case 'cancel':
          this.tellNested(stack, resourceOf(effect.resource), {
            kind: 'cancel',
            id: `cancel ${effect.resource} ${effect.fence}`,
          });
          break;
        case 'answer':
          this.answer(stack, effect, resourceOf);
          break;
        case 'snapshot':
          this.snapshots.set(effect.snapshot.id, effect.status);
          break;
        case 'signal':
          break;
      }
    }
  }

  private send(stack: StackDocument, resource: ResourceDocument | undefined, { fence }: Request): void {
    const request = resource?.request;
    if (!request || request.fence !== fence) return;
    const delay = this.random(200);
    if (isNested(resource)) {
      this.clock.after(delay, () => this.askNested(stack, resource));
      return;
    }
    this.clock.after(delay, () => this.serve(resource));
    if (this.chance(this.temper.twice)) this.clock.after(delay + this.random(3000), () => this.serve(resource));
  }

  /** What the shell of a nested stack makes of the requests of its resource. */
  private askNested(parent: StackDocument, resource: ResourceDocument): void {
    const request = resource.request;
    if (!request) return;
    const id = `${resource.id} ${request.fence}`;
    if (!this.shells.has(resource.id)) {
      if (request.action === 'delete') {
        this.deliver(parent.id, { kind: 'response', id, response: goodResponse(resource) }, this.random(100));
        return;
      }
      const plan = this.addPlan(nestedPlan(request.properties));
      this.open(
        newStack(resource.id, {
          target: targetOf(plan, parent.target.revision),
          parent: linkOf(resource),
          root: parent.root,
          depth: parent.depth + 1,
          adopt: resource.action === 'ADOPT' ? {} : null,
        }),
      );
    }
    const child = this.stack(resource.id);
    const plan = nestedPlan(request.properties);
    switch (request.action) {
      case 'create':
      case 'update': {
        const target = targetOf(this.addPlan(plan), parent.target.revision);
        // The document was made before the first step; the request of a later one finds it there.
        const begins = child.traversal === '' && child.target.plan === target.plan;
        this.tellNested(parent, resource, begins ? { kind: 'create', id, plan } : { kind: 'update', id, plan, target });
        return;
      }
      case 'delete':
        this.tellNested(parent, resource, { kind: 'delete', id, abandon: parent.abandoned });
        return;
      case 'snapshot':
        this.tellNested(parent, resource, { kind: 'visit', id, action: 'SNAPSHOT', snapshot: { id, name: id } });
        return;
      default:
        this.tellNested(parent, resource, { kind: 'visit', id, action: request.action.toUpperCase() as 'CHECK' });
    }
  }

  private tellNested(parent: StackDocument, resource: ResourceDocument | undefined, input: Input): void {
    if (!resource?.request || !this.shells.has(resource.id) || !this.shells.has(parent.id)) return;
    this.deliver(resource.id, { ...input, parent: linkOf(resource) } as Input, this.random(50));
  }

  private answer(stack: StackDocument, effect: Extract<Effect, { kind: 'answer' }>, resourceOf: Look): void {
    const { parent, status, failure } = effect;
    const parts = [...this.shellOf(stack.id).stored.resources.keys()].sort();
    const whole = parts.map((id) => resourceOf(id)?.properties ?? {});
    const response: ResourceResponse = {
      resource_id: parent.resource_id,
      stack_id: parent.stack_id,
      action: parent.action,
      fence: parent.fence,
      status,
      physical_id: stack.id,
      attributes: outputOf(stack.id, { value: JSON.stringify(whole).length, from: null }),
      sequence: stack.event_sequence,
      ...(failure && { error: failure }),
      ...(status === 'failed' && { failures: [...stack.failures] }),
    };
    this.deliver(
      parent.stack_id,
      { kind: 'response', id: `answer ${stack.id} ${stack.event_sequence}`, response },
      this.random(100),
    );
  }

  private answerAtOnce(resource: ResourceDocument): ResourceResponse | undefined {
    const { request } = resource;
    if (resource.type !== 'Instant' || !request) return undefined;
    this.books.apply(resource, request.action, { fence: request.fence, whole: true });
    return goodResponse(resource);
  }

  private serve(resource: ResourceDocument): void {
    const request = resource.request;
    if (!request || (this.fences.get(resource.id) ?? 0) > request.fence) return;
    const repeat = this.fences.get(resource.id) === request.fence;
    const id = `response ${resource.id} ${request.fence}`;
    const say = (response: ResourceResponse, delay: number): void =>
      this.deliver(resource.stack_id, { kind: 'response', id, response }, delay);
    if (repeat) {
      const last = this.answers.get(resource.id);
      if (last && last.fence === request.fence) say(last, this.random(100));
      return;
    }
    this.fences.set(resource.id, request.fence);
    if (this.silent && request.action !== 'delete') return;
    const good = goodResponse(resource);
    const { attributes: _, ...bare } = good;
    const failed = { ...bare, status: 'failed', error: { code: 'ResourceFailed', message: 'no' } } as const;
    const fate = this.failing ? 60 : this.chance(this.temper.fails) ? this.random(100) : 100;
    const settle = (response: ResourceResponse): void => {
      this.answers.set(resource.id, response);
      say(response, this.random(1000));
    };
    if (this.chance(20)) say({ ...bare, status: 'in progress', message: 'at it' }, this.random(100));
    const { fence, action } = request;
    if (this.drifting && action === 'check') {
      settle({ ...good, drift: [{ property: 'value', expected: 1, actual: -1 }] });
    } else if (fate < 20) {
      // Something else was in hand.
      settle({ ...bare, status: 'failed', error: { code: 'Conflict', message: 'busy' } });
    } else if (fate < 40 && action === 'update') {
      settle({ ...failed, replace: true });
    } else if (fate < 40 && action === 'check') {
      const drift = [{ property: 'value', expected: request.properties['value'] ?? null, actual: -1 }];
      settle(this.chance(50) ? { ...good, drift } : { ...failed, drift });
    } else if (fate < 70) {
      // It failed, and may have come through in part.
      if (this.chance(50) && action !== 'delete') this.books.apply(resource, action, { fence, whole: false });
      settle(failed);
    } else if (fate < 85) {
      // It is done, and nobody will ever hear of it.
      if (this.chance(50)) this.books.apply(resource, action, { fence, whole: true });
    } else {
      this.books.apply(resource, action, { fence, whole: true });
      settle(good);
      // It tells twice, and the second time much later.
      if (fate < 100) say(good, this.random(9000));
    }
  }

  private count(pair: string): void {
    this.pairs.set(pair, (this.pairs.get(pair) ?? 0) + 1);
  }

  private watch(step: { before: StackDocument; state: State; inputs: readonly Input[]; outcome: Outcome }): void {
    this.steps += 1;
    for (const input of step.inputs) this.count(`${step.before.phase} ${pairKind(input)}`);
    checkStep(this, step);
  }
}

export function pairKind(input: Input): string {
  if (input.kind === 'timer') return `timer ${input.timer.split(':')[0] ?? ''}`;
  if (input.kind === 'visit') return `visit ${input.action}`;
  if (input.kind === 'resource') return `resource ${input.action.kind}`;
  if (input.kind === 'rollback') return input.cancel ? 'cancel with rollback' : 'rollback';
  if (input.kind === 'delete' && input.abandon) return 'abandon';
  if (input.kind === 'update' && input.as === 'RESTORE') return 'restore';
  return input.kind;
}

function linkOf(resource: ResourceDocument): NonNullable<StackDocument['parent']> {
  const { id, name, stack_id, request } = resource;
  must(request !== null, `${id} waits for nothing`);
  const { action, fence, deadline } = request;
  return { stack_id, resource_id: id, resource_name: name, action, fence, deadline };
}
