import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';
import { emptyPlan, loadState } from '../state.ts';
import {
  successResponse,
  newSimulatedStack,
  simulatedPlan,
  simulatedTarget,
  toolsAt,
  type DesiredResources,
} from '../simulation/model.ts';
import { step } from '../step.ts';

const names = Array.from({ length: 200 }, (_, index) => `m${index}`);
const wishes = (value: number): DesiredResources =>
  Object.fromEntries(names.map((name) => [name, { requires: [], value, kind: 1 }]));
const rolling = { members: names.toReversed(), batch_size: 1, min_in_service: 0, pause_seconds: 0 };

describe('a group that rolls', () => {
  it('evaluates each member a few times, however many batches it has', () => {
    let resolved = 0;
    const tools = toolsAt(0);
    const counted = {
      ...tools,
      resolve: (open: Parameters<typeof tools.resolve>[0]) => {
        resolved += 1;
        return tools.resolve(open);
      },
    };
    const state = loadState({
      stack: newSimulatedStack('s', { target: simulatedTarget('1') }),
      resources: [],
      plan: emptyPlan(),
    });
    const begun: string[] = [];
    const answerAll = (): void => {
      for (let count = 0; state.inFlight.size > 0; count += 1) {
        const [id = ''] = state.inFlight;
        const resource = state.resources.get(id);
        if (!resource) throw new Error(`${id} is in flight and not there`);
        begun.push(resource.name);
        step(
          state,
          [{ kind: 'response', id: `answer ${count} ${resource.fence}`, response: successResponse(resource) }],
          counted,
        );
      }
    };
    step(state, [{ kind: 'create', id: 'create', plan: simulatedPlan(wishes(1)) }], counted);
    answerAll();
    resolved = 0;
    begun.length = 0;
    step(
      state,
      [{ kind: 'update', id: 'update', plan: simulatedPlan(wishes(2), rolling), target: simulatedTarget('2') }],
      counted,
    );
    answerAll();
    expect(begun).toEqual(rolling.members);
    expect(state.stack.status).toBe('COMPLETE');
    expect(resolved).toBeLessThan(names.length * 4);
  });
});

describe('a group that rolls with a pause', () => {
  const members = ['a', 'b', 'c', 'd', 'e'];
  const wanted = (value: number): DesiredResources =>
    Object.fromEntries(members.map((name) => [name, desiredResource({ value })]));
  const updated = (more: { batch_size?: number; min_in_service?: number } = {}) => {
    const stack = new Driver();
    stack.finish(stack.create(wanted(1)));
    const begun = stack.take({
      kind: 'update',
      id: stack.id('update'),
      plan: simulatedPlan(wanted(2), { members, batch_size: 2, min_in_service: 0, pause_seconds: 60, ...more }),
      target: simulatedTarget('2'),
    });
    return { stack, begun };
  };

  it('starts the next batch when the pause is over, and not before', () => {
    const { stack, begun } = updated();
    expect(begun).toEqual(['update a', 'update b']);
    expect(stack.answer('a')).toEqual([]);
    stack.now = 5000;
    expect(stack.answer('b')).toEqual([]);
    expect(stack.state.stack.batch).toMatchObject({ members: [], until: '1970-01-01T00:01:05.000Z' });
    stack.now = 64_999;
    expect(stack.timer({ kind: 'batch' })).toEqual([]);
    stack.now = 65_000;
    expect(stack.timer({ kind: 'batch' })).toEqual(['update c', 'update d']);
  });

  it('sets the timer again when it fires early, and ignores one that fires without a pause', () => {
    const { stack } = updated();
    const early = stack.step({
      kind: 'timer',
      id: stack.id('timer'),
      timer: { kind: 'batch' },
      traversal: stack.state.stack.traversal,
    });
    expect(early.changes.effects).toEqual([]);
    stack.answer('a');
    stack.answer('b');
    const again = stack.step({
      kind: 'timer',
      id: stack.id('timer'),
      timer: { kind: 'batch' },
      traversal: stack.state.stack.traversal,
    });
    expect(again.changes.effects).toMatchObject([
      { kind: 'timer', timer: { kind: 'batch' }, at: '1970-01-01T00:01:00.000Z' },
    ]);
  });

  it('ends without a pause after the last batch', () => {
    const { stack } = updated({ batch_size: 5 });
    for (const name of members) stack.answer(name);
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('keeps min_in_service members unchanged, but always works on at least one', () => {
    expect(updated({ batch_size: 4, min_in_service: 3 }).begun).toEqual(['update a', 'update b']);
    expect(updated({ batch_size: 4, min_in_service: 5 }).begun).toEqual(['update a']);
  });
});
