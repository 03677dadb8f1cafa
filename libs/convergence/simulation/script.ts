/** The language of scenarios: one stack, the operator's actions on it, and the facts to wait for. */
import type { Input } from '../protocol.ts';
import type { ResourceDocument } from '../documents.ts';
import { must } from './checks/ledger.ts';
import { desiredResource } from './driver.ts';
import { newSimulatedStack, simulatedPlan, simulatedTarget, type DesiredResources } from './model.ts';
import { kind } from './providers.ts';
import type { Core } from './shell.ts';
import { SimulatedWorld } from './world.ts';

/** One stack, and the operator's actions on it. */
export class Script {
  readonly world: SimulatedWorld;
  private count = 0;

  constructor(cores: readonly Core[], seed = 7) {
    this.world = new SimulatedWorld(seed, cores);
    this.world.temper = { ...kind };
  }

  get status(): string {
    const { action, status } = this.world.stack('s');
    return `${action}_${status}`;
  }

  get resources(): ResourceDocument[] {
    return [...this.world.shellOf('s').stored.resources.values()];
  }

  id(what: string): string {
    return `${what} ${(this.count += 1)}`;
  }

  find(name: string): ResourceDocument {
    const found = this.resources.find((resource) => resource.name === name);
    must(found !== undefined, `no resource ${name}`);
    return found;
  }

  create(wishes: DesiredResources, onFailure: 'keep' | 'rollback' | 'pause' = 'keep'): this {
    const plan = simulatedPlan(wishes);
    this.world.open(
      newSimulatedStack('s', { target: simulatedTarget(this.world.addPlan(plan)), on_failure: onFailure }),
    );
    return this.say({ kind: 'create', id: 'create', plan });
  }

  update(wishes: DesiredResources, more: Partial<Extract<Input, { kind: 'update' }>> = {}): this {
    const plan = simulatedPlan(wishes);
    return this.say({
      kind: 'update',
      id: this.id('update'),
      plan,
      target: simulatedTarget(this.world.addPlan(plan)),
      ...more,
    });
  }

  remove(): this {
    return this.say({ kind: 'delete', id: this.id('delete') });
  }

  say(...inputs: Input[]): this {
    this.world.take('s', inputs);
    return this;
  }

  /** Runs until nothing is left to do, and checks the final status, if given. */
  ends(status?: string): this {
    this.world.run(() => this.world.stack('s').phase === 'idle' && this.quiet());
    if (status !== undefined) must(this.status === status, `the stack ended ${this.status}, expected ${status}`);
    return this;
  }

  until(condition: () => boolean): this {
    this.world.run(condition);
    return this;
  }

  /** Every request from now on fails. */
  failing(): this {
    this.world.providers.failing = true;
    return this;
  }

  behaving(): this {
    this.world.providers.failing = false;
    return this;
  }

  private quiet(): boolean {
    return [...this.world.shells.values()].every(({ stored }) => stored.stack.phase === 'idle');
  }
}

/** True while a resource of that name has a pending request of that action. */
export const pending = (script: Script, name: string, action: string) => (): boolean =>
  script.resources.some((resource) => resource.name === name && resource.request?.action === action);

/** Three resources, each of which requires the one before. */
export const chain: DesiredResources = {
  a: desiredResource(),
  b: desiredResource({ requires: ['a'] }),
  c: desiredResource({ requires: ['b'] }),
};

/** Scenarios by the situation that they set up. */
export type Scenarios = Readonly<Record<string, (script: Script) => void>>;
