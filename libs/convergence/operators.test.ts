/** The operator for whom a stack acts: a template of another user never gets the rights of an operator. */
import type { Occasion } from '@anneal/contracts/origin.ts';
import { describe, expect, it } from 'vitest';
import type { ParentLink } from './documents.ts';
import type { Input } from './protocol.ts';
import { newSimulatedStack, simulatedPlan, successResponse, toolsAt } from './simulation/model.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const by = (name: string, operator?: string): Occasion => ({
  actor: { kind: 'user', id: name, name },
  cause: { kind: 'request', id: null, reason: null },
  ...(operator !== undefined && { operator }),
});
const admin = by('admin', 'admin');
const member = by('member');
const parent: ParentLink = {
  stack_id: 'parent',
  resource_id: 's',
  resource_name: 'nested',
  action: 'create',
  fence: 1,
  deadline: new Date(60_000).toISOString(),
};

const plan = (value: number) => simulatedPlan({ a: { requires: [], value, kind: 1 } });
let inputs = 0;
const id = (): string => `input-${(inputs += 1)}`;
type Unsent<T> = T extends unknown ? Omit<T, 'id'> : never;

const fresh = (): State => loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });
const send = (state: State, input: Unsent<Input>): State => {
  step(state, [{ id: id(), ...input }], toolsAt(0));
  return state;
};
const update = (state: State, occasion: Occasion | undefined, value: number): State =>
  send(state, {
    kind: 'update',
    plan: plan(value),
    target: { ...state.stack.target, plan: `plan-${value}` },
    occasion,
  });
const create = (occasion: Occasion | undefined): State => send(fresh(), { kind: 'create', plan: plan(1), occasion });
/** Ends the requests in flight. */
const finish = (state: State, failed = false): State => {
  for (const resource of state.resources.values()) {
    if (!resource.request) continue;
    const success = successResponse(resource);
    const response = failed
      ? { ...success, status: 'failed' as const, error: { code: 'ResourceFailed', message: 'no' } }
      : success;
    send(state, { kind: 'response', response });
  }
  return state;
};

const operatorOf = ({ stack }: State): string | undefined => stack.occasion?.operator;

describe('a stack', () => {
  it('acts for the operator who created it, and for the next one who updates it', () => {
    const state = finish(create(admin));
    expect(operatorOf(state)).toBe('admin');
    expect(operatorOf(update(state, by('root', 'root'), 2))).toBe('root');
  });

  it('acts for no operator in the actions of other users, and keeps the template of the operator', () => {
    const state = finish(create(admin));
    expect(operatorOf(send(state, { kind: 'visit', action: 'CHECK', occasion: member }))).toBeUndefined();
    finish(state);
    expect(operatorOf(update(state, admin, 2))).toBe('admin');
  });

  it('never acts for an operator after another user has updated it, except to be deleted', () => {
    const state = finish(create(admin));
    expect(operatorOf(update(state, member, 2))).toBeUndefined();
    finish(state);
    expect(operatorOf(update(state, admin, 3))).toBeUndefined();
    finish(state);
    expect(operatorOf(send(state, { kind: 'delete', occasion: member }))).toBeUndefined();
    finish(state, true);
    expect(operatorOf(send(state, { kind: 'delete', occasion: admin }))).toBe('admin');
  });

  it('of another user acts for no operator who updates or retries it', () => {
    const failed = finish(create(member), true);
    expect(failed.stack.status).toBe('FAILED');
    expect(operatorOf(send(failed, { kind: 'retry', occasion: admin }))).toBeUndefined();
    expect(failed.stack.action).toBe('CREATE');
    finish(failed);
    expect(operatorOf(update(failed, admin, 2))).toBeUndefined();
  });

  it('rolls back for the operator whose update failed', () => {
    const state = finish(create(admin));
    send(state, {
      kind: 'update',
      plan: plan(2),
      target: { ...state.stack.target, plan: 'plan-2' },
      on_failure: 'rollback',
      occasion: admin,
    });
    finish(state, true);
    expect(state.stack).toMatchObject({
      action: 'ROLLBACK',
      occasion: { actor: { kind: 'system' }, operator: 'admin' },
    });
  });
});

describe('a nested stack', () => {
  it('acts for the operator whom the request of its parent stack names', () => {
    const state = send(fresh(), { kind: 'create', plan: plan(1), parent, occasion: admin });
    expect(operatorOf(state)).toBe('admin');
  });

  it('acts for no operator who updates it directly', () => {
    const state = finish(send(fresh(), { kind: 'create', plan: plan(1), parent, occasion: member }));
    expect(operatorOf(update({ ...state, stack: { ...state.stack, parent } }, admin, 2))).toBeUndefined();
  });
});
