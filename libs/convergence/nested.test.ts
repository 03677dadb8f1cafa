import { describe, expect, it } from 'vitest';
import { newStack, planOf, toolsAt, type Wish } from './simulation/model.ts';
import type { ParentLink } from './documents.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const minute = 60_000;
const wish: Wish = { requires: [], value: 1, kind: 1 };
const link = (fence: number, deadline: number): ParentLink => ({
  stack_id: 'parent',
  resource_id: 's',
  resource_name: 'nested',
  action: 'create',
  fence,
  deadline: new Date(deadline).toISOString(),
});
const made = (): State => {
  const state = loadState({ stack: newStack('s'), resources: [], plan: emptyPlan() });
  step(state, [{ kind: 'create', id: 'c', plan: planOf({}), parent: link(1, minute) }], toolsAt(0));
  return state;
};

describe('the time that a nested stack has', () => {
  it('is that of the request which asks for it', () => {
    const state = loadState({ stack: newStack('s'), resources: [], plan: emptyPlan() });
    step(state, [{ kind: 'create', id: 'c', plan: planOf({ a: wish }), parent: link(1, minute) }], toolsAt(0));
    expect(state.stack.deadline).toBe(new Date(minute).toISOString());
  });

  it('is its own in what it does by itself, however long ago it was asked for anything', () => {
    const state = made();
    const target = { ...state.stack.target, plan: 'larger' };
    const now = 1000 * minute;
    step(state, [{ kind: 'update', id: 'u', plan: planOf({ a: wish }), target }], toolsAt(now));
    expect(state.stack).toMatchObject({ action: 'UPDATE', status: 'IN_PROGRESS' });
    expect(Date.parse(state.stack.deadline ?? '')).toBeGreaterThan(now);
  });
});
