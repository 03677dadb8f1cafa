import { nodeStates } from '@anneal/contracts/calls/nodes.ts';
import { describe, expect, it } from 'vitest';
import {
  firstStep,
  holdStates,
  isWorking,
  nextState,
  outcomeVerbs,
  removableStates,
  requestVerbs,
  stepAfter,
  steps,
  nodeTransitions,
  verbs,
  verbTowards,
} from './states.ts';

const working = nodeStates.filter(isWorking);

describe('node states', () => {
  it('define a next state or a refusal for every pair of state and verb', () => {
    for (const state of nodeStates) {
      for (const verb of verbs) {
        const next = nextState(state, verb);
        expect(next === undefined || nodeStates.includes(next), `${state} + ${verb}`).toBe(true);
        expect(next).toBe(nodeTransitions[state][verb]);
      }
    }
  });

  it('let every working state succeed, fail and be aborted', () => {
    for (const state of working) {
      for (const verb of ['done', 'fail', 'abort'] as const)
        expect(nextState(state, verb), `${state} + ${verb}`).toBeDefined();
    }
  });

  it('accept no work result in a state at rest, and offer an operator a verb in each of them', () => {
    for (const state of nodeStates.filter((entry) => !isWorking(entry))) {
      for (const verb of outcomeVerbs) expect(nextState(state, verb), `${state} + ${verb}`).toBeUndefined();
      // An abort leaves a pause, and gives up the repair of a machine in use.
      const isLeft = holdStates.includes(state) || state === 'service failed';
      expect(nextState(state, 'abort') !== undefined, `${state} + abort`).toBe(isLeft);
      expect(
        requestVerbs.some((verb) => nextState(state, verb) !== undefined),
        state,
      ).toBe(true);
    }
  });

  it('can reach every state from enroll, and available from every state', () => {
    const reach = (start: (typeof nodeStates)[number]): Set<string> => {
      const seen = new Set<(typeof nodeStates)[number]>([start]);
      for (const state of seen) for (const next of Object.values(nodeTransitions[state])) seen.add(next);
      return seen;
    };
    expect(reach('enroll').size).toBe(nodeStates.length);
    for (const state of nodeStates) expect(reach(state).has('available'), state).toBe(true);
  });

  it('make only a cleaned or unused machine available', () => {
    const into = nodeStates.flatMap((state) =>
      verbs.filter((verb) => nextState(state, verb) === 'available').map((verb) => `${state} + ${verb}`),
    );
    expect(into).toEqual(['manageable + provide', 'cleaning + done']);
  });

  it('continue after a pause with the steps that are left', () => {
    for (const state of holdStates) {
      const next = nextState(state, 'unhold');
      expect(next !== undefined && isWorking(next) && steps[next].some((step) => step === 'run steps'), state).toBe(
        true,
      );
    }
  });

  it('run the steps of a state in order, then finish', () => {
    for (const state of working) {
      const walked: string[] = [];
      for (let step = firstStep(state); step !== undefined; step = stepAfter(state, step)) walked.push(step);
      expect(walked).toEqual(steps[state]);
    }
  });

  it('take an enrolled node to available through inspection, and through cleaning if requested', () => {
    const towards = { target: 'available', inspected: false, clean: false, retired: false } as const;
    expect(verbTowards({ ...towards, state: 'manageable' })).toBe('inspect');
    expect(verbTowards({ ...towards, state: 'manageable', inspected: true })).toBe('provide');
    expect(verbTowards({ ...towards, state: 'manageable', inspected: true, clean: true })).toBe('clean');
    expect(verbTowards({ ...towards, state: 'manageable', target: null })).toBeUndefined();
    expect(verbTowards({ ...towards, state: 'manageable', inspected: true, retired: true })).toBeUndefined();
  });

  it('never allow the removal of a node that has or may have a server', () => {
    for (const state of ['deploying', 'wait call-back', 'active', 'deleting', 'error'] as const) {
      expect(removableStates).not.toContain(state);
    }
  });
});
