/** One stack without a world: steps the inputs one by one, and answers each request as the test decides. */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { EngineTimer } from '@anneal/contracts/stack-timer.ts';
import type { ResourceDocument, StackDocument } from '../documents.ts';
import type { Input, Outcome } from '../protocol.ts';
import { emptyPlan, loadState, type State } from '../state.ts';
import { step } from '../step.ts';
import {
  successResponse,
  newSimulatedStack,
  simulatedPlan,
  simulatedTarget,
  toolsAt,
  type ToolOptions,
  type DesiredResource,
  type DesiredResources,
} from './model.ts';

/** A resource for a plan, with defaults. */
export const desiredResource = (more: Partial<DesiredResource> = {}): DesiredResource => ({
  requires: [],
  value: 1,
  kind: 1,
  ...more,
});

/** Steps one stack and answers its requests. `now` is in milliseconds. */
export class Driver {
  readonly state: State;
  now = 0;
  private readonly options: ToolOptions;
  private count = 0;

  constructor(stack: Partial<StackDocument> = {}, options: ToolOptions = {}) {
    const document = { ...newSimulatedStack('s'), ...stack };
    this.state = loadState({ stack: document, resources: [], plan: emptyPlan() });
    this.options = options;
  }

  get status(): string {
    const { action, status } = this.state.stack;
    return `${action}_${status}`;
  }

  id(what: string): string {
    return `${what} ${(this.count += 1)}`;
  }

  step(...inputs: Input[]): Outcome {
    return step(this.state, inputs, toolsAt(this.now, this.options));
  }

  /** Steps, and returns the requests that were sent: `create a`. */
  take(input: Input): string[] {
    const { changes } = this.step(input);
    return changes.effects.flatMap((effect) => {
      const resource = effect.kind === 'request' ? changes.resources.get(effect.resource) : undefined;
      return resource?.request ? [`${resource.request.action} ${resource.name}`] : [];
    });
  }

  create(wishes: DesiredResources): string[] {
    const plan = simulatedPlan(wishes);
    return this.take({ kind: 'create', id: this.id('create'), plan });
  }

  update(wishes: DesiredResources, more: Partial<Extract<Input, { kind: 'update' }>> = {}): string[] {
    const plan = simulatedPlan(wishes);
    const target = simulatedTarget(JSON.stringify(wishes));
    return this.take({ kind: 'update', id: this.id('update'), plan, target, ...more });
  }

  remove(abandon = false): string[] {
    return this.take({ kind: 'delete', id: this.id('delete'), abandon });
  }

  act(resource: string, action: Extract<Input, { kind: 'resource' }>['action']): string[] {
    return this.take({ kind: 'resource', id: this.id('action'), resource, action });
  }

  timer(timer: EngineTimer, traversal = this.state.stack.traversal): string[] {
    return this.take({ kind: 'timer', id: this.id('timer'), timer, traversal });
  }

  find(name: string, where: (resource: ResourceDocument) => boolean = () => true): ResourceDocument {
    const found = [...this.state.resources.values()].find((resource) => resource.name === name && where(resource));
    if (!found) throw new Error(`no resource ${name}`);
    return found;
  }

  answer(name: string, more: Partial<ResourceResponse> = {}): string[] {
    const response = { ...successResponse(this.find(name, ({ request }) => request !== null)), ...more };
    return this.take({ kind: 'response', id: this.id('answer'), response });
  }

  fail(name: string): string[] {
    return this.answer(name, { status: 'failed', error: { code: 'ResourceFailed', message: 'no' } });
  }

  /** Answers all requests, and returns them in the order of sending. */
  finish(asked: readonly string[]): string[] {
    const all = [...asked];
    for (let index = 0; index < all.length; index += 1) all.push(...this.answer(all[index]?.split(' ')[1] ?? ''));
    return all;
  }
}
