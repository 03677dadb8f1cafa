import { describe, expect, it } from 'vitest';
import { isObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { FromParent, Input } from './protocol.ts';
import { Driver, desiredResource as wishOf } from './simulation/driver.ts';
import {
  newSimulatedStack,
  simulatedPlan,
  successResponse,
  toolsAt,
  type DesiredResource,
} from './simulation/model.ts';
import type { ParentLink } from './documents.ts';
import { responseOf } from './nested.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const minute = 60_000;
const wish: DesiredResource = { requires: [], value: 1, kind: 1 };
const link = (fence: number, deadline: number): ParentLink => ({
  stack_id: 'parent',
  resource_id: 's',
  resource_name: 'nested',
  action: 'create',
  fence,
  deadline: new Date(deadline).toISOString(),
});
const made = (): State => {
  const state = loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });
  step(state, [{ kind: 'create', id: 'c', plan: simulatedPlan({}), parent: link(1, minute) }], toolsAt(0));
  return state;
};

describe('the deadline of a nested stack', () => {
  it('is that of the request', () => {
    const state = loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });
    step(state, [{ kind: 'create', id: 'c', plan: simulatedPlan({ a: wish }), parent: link(1, minute) }], toolsAt(0));
    expect(state.stack.deadline).toBe(new Date(minute).toISOString());
  });

  it('is its own in actions without a request, however old the last request is', () => {
    const state = made();
    const target = { ...state.stack.target, plan: 'larger' };
    const now = 1000 * minute;
    step(state, [{ kind: 'update', id: 'u', plan: simulatedPlan({ a: wish }), target }], toolsAt(now));
    expect(state.stack).toMatchObject({ action: 'UPDATE', status: 'IN_PROGRESS' });
    expect(Date.parse(state.stack.deadline ?? '')).toBeGreaterThan(now);
  });
});

const target = (plan: string) => ({ ...newSimulatedStack('s').target, plan });
const answers = ({ changes }: ReturnType<typeof step>): string[] =>
  changes.effects.flatMap((effect) =>
    effect.kind === 'answer' ? [`${effect.status} ${effect.failure?.code ?? ''}`.trim()] : [],
  );

describe('the answer of a nested stack', () => {
  const busy = (): State => {
    const state = loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });
    step(state, [{ kind: 'create', id: 'c', plan: simulatedPlan({ a: wish }), parent: link(3, minute) }], toolsAt(0));
    return state;
  };
  const gone = (): State => {
    const state = made();
    step(state, [{ kind: 'delete', id: 'd', parent: link(2, minute) }], toolsAt(0));
    return state;
  };
  const take = (state: State, ...inputs: (Input & FromParent)[]) => step(state, inputs, toolsAt(0));

  it('is one refusal for a request that it cannot fulfil', () => {
    const outcome = take(busy(), { kind: 'visit', id: 'v', action: 'CHECK', parent: link(4, minute) });
    expect(answers(outcome)).toEqual(['failed Conflict']);
  });

  it('is success at once when it is already in the requested state', () => {
    const state = made();
    take(state, { kind: 'visit', id: 'v', action: 'SUSPEND', parent: link(2, minute) });
    const outcome = take(state, { kind: 'visit', id: 'w', action: 'SUSPEND', parent: link(3, minute) });
    expect(answers(outcome)).toEqual(['complete']);
  });

  it('is success for every repeated deletion, also between other requests', () => {
    expect(answers(take(gone(), { kind: 'delete', id: 'e', parent: link(3, minute) }))).toEqual(['complete']);
    const late = { kind: 'delete', id: 'd', parent: link(1, minute) } as const;
    const again = { kind: 'delete', id: 'e', parent: link(3, minute) } as const;
    expect(answers(take(gone(), late, again))).toEqual(['complete']);
  });

  it('does not follow a cancellation for another request or after the end', () => {
    const state = busy();
    const other = take(state, { kind: 'cancel', id: 'x', parent: link(2, minute) });
    expect([answers(other), state.stack.status]).toEqual([[], 'IN_PROGRESS']);
    const ended = take(state, { kind: 'cancel', id: 'y', parent: link(3, minute) });
    expect([answers(ended), state.stack.status]).toEqual([['failed ResourceFailed'], 'FAILED']);
    const late = take(state, { kind: 'cancel', id: 'z', parent: link(3, minute) });
    expect([answers(late), late.refusals.size]).toEqual([[], 0]);
    expect(answers(take(made(), { kind: 'cancel', id: 'z', parent: link(1, minute) }))).toEqual([]);
  });

  it('follows a cancellation in every state', () => {
    const state = made();
    const plan = simulatedPlan({ a: wish });
    take(state, { kind: 'update', id: 'u', plan, target: target('a'), as: 'RESTORE', parent: link(2, minute) });
    const outcome = take(state, { kind: 'cancel', id: 'x', parent: link(2, minute) });
    expect(answers(outcome)).toEqual(['failed ResourceFailed']);
  });
});

describe('a report of a nested stack without a request', () => {
  const around = (): Driver => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.create({ n: wishOf({ type: 'Nested' }) });
    stack.answer('n', { sequence: 5 });
    return stack;
  };
  const says = (stack: Driver, more: Partial<ResourceResponse>) => {
    const { id, fence } = stack.find('n');
    const response = { resource_id: id, stack_id: 's', action: 'create', fence, status: 'complete', ...more } as const;
    return stack.step({ kind: 'response', id: stack.id('unasked'), response });
  };
  const same = { n: wishOf({ type: 'Nested' }) };

  it('updates the attributes when it is newer', () => {
    const stack = around();
    says(stack, { sequence: 6, attributes: { output: 'new' } });
    says(stack, { sequence: 5, attributes: { output: 'old' } });
    says(stack, { sequence: 7, fence: 99, attributes: { output: 'of another' } });
    expect(stack.find('n')).toMatchObject({ attributes: { output: 'new' }, sequence: 6, status: 'COMPLETE' });
    expect(stack.update(same)).toEqual([]);
  });

  it('is read from the newer incarnation when a failed update left a reader with two', () => {
    const stack = new Driver({}, { follows: ['from'] });
    const b = wishOf({ requires: ['a'] });
    stack.finish(stack.create({ a: wishOf(), b }));
    stack.update({ a: wishOf({ kind: 2 }), b });
    stack.answer('a');
    stack.fail('b');
    expect(stack.status).toBe('UPDATE_FAILED');
    const { id, fence } = stack.find('a', ({ replaces }) => replaces !== null);
    const said = { resource_id: id, stack_id: 's', action: 'signal', fence, status: 'complete' } as const;
    stack.take({ kind: 'response', id: 'said', response: { ...said, attributes: { output: 'new' } } });
    expect(stack.find('b').properties['from']).toEqual(['new']);
  });

  it('is passed on as a signal to a property that follows, which the next update does not change again', () => {
    const wishes = { n: wishOf({ type: 'Nested' }), c: wishOf({ type: 'Test', requires: ['n'] }) };
    const stack = new Driver({}, { replaceFailed: false, follows: ['from'] });
    stack.create(wishes);
    stack.answer('n', { sequence: 5, attributes: { output: 'old' } });
    const asked = stack.find('c');
    const signals = ({ changes }: ReturnType<Driver['step']>) =>
      changes.effects.flatMap((effect) => (effect.kind === 'signal' ? [effect] : []));
    // A change while its creation is in flight is sent when that is complete.
    says(stack, { sequence: 6, attributes: { output: 'new' } });
    const [first] = signals(
      stack.step({ kind: 'response', id: stack.id('answer'), response: successResponse(stack.find('c')) }),
    );
    expect(first).toMatchObject({ resource: asked.id, signal: { follows: { from: ['new'] } } });
    const [second] = signals(says(stack, { sequence: 7, attributes: { output: 'newer' } }));
    expect(second).toMatchObject({ resource: asked.id, signal: { follows: { from: ['newer'] } } });
    const sequenceOf = (each: typeof first): number => Number(isObject(each?.signal) ? each.signal['sequence'] : 0);
    expect(sequenceOf(first)).toBeLessThan(sequenceOf(second));
    expect(signals(says(stack, { sequence: 8, attributes: { output: 'newer' } }))).toEqual([]);
    expect(stack.find('c').properties['from']).toEqual(['newer']);
    expect(stack.update(wishes)).toEqual([]);
  });

  it('of an unhealthy resource makes the next update enter the nested stack, and reaches the parent', () => {
    const stack = around();
    stack.state.stack = { ...stack.state.stack, parent: link(1, minute) };
    const outcome = says(stack, { sequence: 6, status: 'failed', error: { code: 'ResourceFailed', message: 'm' } });
    expect(answers(outcome)).toEqual(['failed ResourceFailed']);
    expect(stack.update(same)).toEqual(['update n']);
  });

  it('reaches every ancestor, each time as a newer answer', () => {
    const stack = around();
    stack.state.stack = { ...stack.state.stack, parent: link(1, minute) };
    const answersTo = (more: Partial<ResourceResponse>): number[] =>
      says(stack, more).changes.effects.flatMap((effect) =>
        effect.kind === 'answer' ? [responseOf(effect, stack.state.stack).sequence ?? 0] : [],
      );
    const error = { code: 'ResourceFailed', message: 'm' };
    const sequences = [
      ...answersTo({ sequence: 6, attributes: { output: 'new' } }),
      ...answersTo({ sequence: 7, status: 'failed', error }),
      ...answersTo({ sequence: 8, attributes: { output: 'newer' }, status: 'failed', error }),
    ];
    expect(new Set(sequences).size).toBe(3);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(answersTo({ sequence: 9, attributes: { output: 'newer' } })).toEqual([]);
  });

  it('changes nothing during a request, an action or a deletion', () => {
    const stack = around();
    expect(says(stack, { sequence: 6, status: 'in progress', attributes: { output: 'x' } }).changes.dirty).toBe(false);
    stack.update({ n: wishOf({ type: 'Nested', value: 2 }) });
    const failed = { sequence: 7, status: 'failed', action: 'check' } as const;
    expect(says(stack, failed).changes.dirty).toBe(false);
    stack.answer('n', { sequence: 8 });
    stack.remove();
    stack.fail('n');
    expect(says(stack, { ...failed, sequence: 9 }).changes.dirty).toBe(false);
  });
});
