import { describe, expect, it } from 'vitest';
import { emptyPlan, loadState } from './state.ts';
import { goodResponse, newStack, planOf, targetOf, toolsAt, type Wishes } from './simulation/model.ts';
import { step } from './step.ts';

const names = Array.from({ length: 200 }, (_, index) => `m${index}`);
const wishes = (value: number): Wishes =>
  Object.fromEntries(names.map((name) => [name, { requires: [], value, kind: 1 }]));
const rolling = { members: names.toReversed(), batch_size: 1, min_in_service: 0, pause_seconds: 0 };

describe('a group that rolls', () => {
  it('works out each member a few times, however many batches there are', () => {
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
      stack: newStack('s', { target: targetOf('1') }),
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
          [{ kind: 'response', id: `answer ${count} ${resource.fence}`, response: goodResponse(resource) }],
          counted,
        );
      }
    };
    step(state, [{ kind: 'create', id: 'create', plan: planOf(wishes(1)) }], counted);
    answerAll();
    resolved = 0;
    begun.length = 0;
    step(state, [{ kind: 'update', id: 'update', plan: planOf(wishes(2), rolling), target: targetOf('2') }], counted);
    answerAll();
    expect(begun).toEqual(rolling.members);
    expect(state.stack.status).toBe('COMPLETE');
    expect(resolved).toBeLessThan(names.length * 4);
  });
});
