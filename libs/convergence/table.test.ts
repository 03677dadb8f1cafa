/** Walks `traversal/transitions.ts`: every input in every state. */
import { describe, expect, it } from 'vitest';
import type { Input } from './protocol.ts';
import {
  successResponse,
  newSimulatedStack,
  simulatedPlan,
  simulatedTarget,
  toolsAt,
  type DesiredResources,
} from './simulation/model.ts';
import { stackActions } from '@anneal/contracts/calls/stacks.ts';
import { type ParentLink, type Scaling, type StackAction, type StackDocument } from './documents.ts';
import { expectedOf } from './simulation/checks/expected.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';
import {
  effectOf,
  isRefusal,
  phaseOf,
  phases,
  refusals,
  transitions,
  type TransitionEffect,
  type TransitionInput,
} from './traversal/transitions.ts';

const wishes = (value: number): DesiredResources => ({
  a: { requires: [], value, kind: 1 },
  b: { requires: [], value, kind: 1 },
});
const take = (state: State, input: Input) => step(state, [input], toolsAt(0));
const fresh = (onFailure: 'keep' | 'pause' = 'keep'): State =>
  loadState({
    stack: newSimulatedStack('s', { target: simulatedTarget('1'), on_failure: onFailure }),
    resources: [],
    plan: emptyPlan(),
  });
const update = (value: number): Input => ({
  kind: 'update',
  id: `update ${value}`,
  plan: simulatedPlan(wishes(value)),
  target: simulatedTarget(String(value)),
});
const create: Input = { kind: 'create', id: 'create', plan: simulatedPlan(wishes(1)) };

let answers = 0;
/** Answers all requests, until none is pending. */
function answer(state: State, status: 'complete' | 'failed' = 'complete', most = Infinity): State {
  for (let count = 0; count < most; count += 1) {
    const [id] = state.inFlight;
    const resource = id === undefined ? undefined : state.resources.get(id);
    if (!resource) return state;
    const error = { code: 'ResourceFailed', message: 'no' };
    const response = { ...successResponse(resource), status, ...(status === 'failed' && { error }) };
    take(state, { kind: 'response', id: `answer ${(answers += 1)}`, response });
  }
  return state;
}
const after = (state: State, ...inputs: Input[]): State => {
  for (const input of inputs) take(state, input);
  return state;
};
const visit = (action: 'CHECK' | 'SUSPEND' | 'RESUME'): Input => ({ kind: 'visit', id: action, action });
const snapshot: Input = { kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot: { id: 'x', name: 'x' } };
const created = (): State => answer(after(fresh(), create));
const suspended = (): State => answer(after(created(), { ...visit('SUSPEND'), id: 'earlier suspend' }));

const states: Readonly<Record<string, () => State>> = {
  CREATE_COMPLETE: created,
  CREATE_FAILED: () => answer(after(fresh(), create), 'failed'),
  'CREATE converging': () => after(fresh(), create),
  'UPDATE converging': () => after(created(), update(2)),
  'UPDATE draining': () => answer(after(created(), update(2)), 'failed', 1),
  'CREATE cancelled': () => after(fresh(), create, { kind: 'cancel', id: 'earlier cancel' }),
  'CREATE paused': () => answer(after(fresh('pause'), create), 'failed'),
  'CHECK converging': () => after(created(), visit('CHECK')),
  SUSPEND_COMPLETE: suspended,
  'SNAPSHOT_COMPLETE while suspended': () => answer(after(suspended(), { ...snapshot, id: 'earlier snapshot' })),
  'DELETE converging': () => after(created(), { kind: 'delete', id: 'earlier delete' }),
  DELETE_COMPLETE: () => answer(after(created(), { kind: 'delete', id: 'earlier delete' })),
};

const timer =
  (kind: 'deadline' | 'grace') =>
  (state: State): Input => ({
    kind: 'timer',
    id: kind,
    timer: { kind },
    traversal: state.stack.traversal,
  });
const word = (action: Extract<Input, { kind: 'resource' }>['action']): Input => ({
  kind: 'resource',
  id: action.kind,
  resource: 'a',
  action,
});
const scaling: Scaling = {
  id: 'scale',
  reason: 'signal',
  policy: 'p',
  message: null,
  before: 1,
  after: 2,
  entering: ['b'],
  leaving: [],
};
const inputs: Readonly<Record<TransitionInput, Input | ((state: State) => Input)>> = {
  create: { ...create, id: 'create again' },
  update: update(3),
  restore: { ...(update(3) as Extract<Input, { kind: 'update' }>), as: 'RESTORE' },
  scale: { ...(update(3) as Extract<Input, { kind: 'update' }>), scaling },
  delete: { kind: 'delete', id: 'delete' },
  abandon: { kind: 'delete', id: 'abandon', abandon: true },
  check: { ...visit('CHECK'), id: 'check' },
  suspend: visit('SUSPEND'),
  resume: visit('RESUME'),
  snapshot,
  rollback: { kind: 'rollback', id: 'rollback', cancel: false },
  'cancel with rollback': { kind: 'rollback', id: 'cancel with rollback', cancel: true },
  cancel: { kind: 'cancel', id: 'cancel' },
  retry: { kind: 'retry', id: 'retry' },
  'mark unhealthy': word({ kind: 'mark', unhealthy: true, reason: 'bad' }),
  skip: word({ kind: 'skip' }),
  'deadline passed': timer('deadline'),
  'grace passed': timer('grace'),
};

/** The effect of the input: `refused`, `nothing`, `notes`, `ends`, or the action of the traversal that it begins. */
function outcome(state: State, input: Input): string {
  const { traversal } = state.stack;
  const { changes, refusals: refused } = take(state, input);
  if (refused.size > 0) return 'refused';
  const first = changes.events.find(({ resource_id }) => resource_id === undefined);
  const { phase } = state.stack;
  if (first?.status === 'IN_PROGRESS' && state.stack.traversal !== traversal) return first.action;
  if (first?.status === 'FAILED' && (phase === 'idle' || phase === 'draining')) return 'ends';
  const touched = changes.resources.size + changes.removed.size + changes.effects.length > 0;
  return touched ? 'notes' : 'nothing';
}

/** The action of a traversal that an input begins. */
function begun(input: TransitionInput, { action, adopt }: StackDocument): StackAction {
  if (input === 'create') return adopt ? 'ADOPT' : 'CREATE';
  if (input === 'scale') return 'UPDATE';
  if (input === 'abandon') return 'DELETE';
  if (input === 'cancel with rollback') return 'ROLLBACK';
  return input === 'retry' ? action : (input.toUpperCase() as StackAction);
}

/**
 * Inputs that may do nothing where the table lets them through: a mark or skip also depends on the resource, and a
 * deletion that needs no grace has no request to take over.
 */
const dependsOnResource: ReadonlySet<string> = new Set(['mark unhealthy', 'skip', 'grace passed']);

describe('the table of transitions', () => {
  for (const name of Object.keys(transitions) as TransitionInput[]) {
    it(`describes what ${name} does in every state`, () => {
      for (const [from, make] of Object.entries(states)) {
        const state = make();
        const given = inputs[name];
        const effect = effectOf(name, state.stack);
        const expected = isRefusal(effect) ? 'refused' : effect === 'begins' ? begun(name, state.stack) : effect;
        const found = outcome(state, typeof given === 'function' ? given(state) : given);
        if (effect === 'notes' && dependsOnResource.has(name)) continue;
        // A cancelled stack has reported its end before.
        const silent = name === 'deadline passed' && from.endsWith('cancelled') ? 'notes' : expected;
        expect(`${from}: ${found}`).toBe(`${from}: ${silent}`);
      }
    });
  }

  it('leads to every effect and every phase but the first', () => {
    const cells = Object.keys(transitions).flatMap((name) =>
      Object.values(states).map((make) => effectOf(name as TransitionInput, make().stack)),
    );
    const effects = ['begins', 'ends', 'notes', 'nothing', ...Object.keys(refusals)].filter(
      (one) => one !== 'of a snapshot',
    );
    expect(effects.filter((effect) => !cells.includes(effect as TransitionEffect))).toEqual([]);
    const reached = new Set(Object.values(states).map((make) => phaseOf(make().stack)));
    expect(phases.filter((phase) => !reached.has(phase))).toEqual(['new']);
  });

  it('agrees with the second implementation of the simulator for every stack', () => {
    for (const stack of everyStack()) {
      for (const [name, given] of Object.entries(inputs)) {
        const input = typeof given === 'function' ? undefined : given;
        const expected = input && expectedOf(input, stack);
        if (expected === undefined) continue;
        const effect = effectOf(name as TransitionInput, stack);
        const found = isRefusal(effect) ? 'refused' : effect === 'ends' ? 'cancelled' : effect;
        const wanted = typeof expected === 'object' ? 'begins' : expected;
        const about = `${name} of ${JSON.stringify(stack)}`;
        expect(`${about}: ${found}`).toBe(`${about}: ${wanted}`);
        if (typeof expected === 'object') expect(begun(name as TransitionInput, stack)).toBe(expected.begins);
      }
    }
  });
});

/** One stack for each combination that the table distinguishes. */
function* everyStack(): Generator<StackDocument> {
  const whole = created().stack;
  const parent = { stack_id: 'p', resource_id: 'r', fence: 1 } as unknown as ParentLink;
  for (const action of stackActions) {
    for (const [phase, status] of [
      ['idle', 'COMPLETE'],
      ['idle', 'FAILED'],
      ['converging', 'IN_PROGRESS'],
      ['draining', 'IN_PROGRESS'],
      ['draining', 'FAILED'],
      ['paused', 'IN_PROGRESS'],
    ] as const) {
      for (const isSuspended of [false, true]) {
        for (const nested of [false, true]) {
          for (const abandoned of action === 'DELETE' ? [false, true] : [false]) {
            const deleted = action === 'DELETE' && phase === 'idle' && status === 'COMPLETE';
            yield {
              ...whole,
              action,
              phase,
              status,
              suspended: isSuspended,
              abandoned,
              parent: nested ? parent : null,
              deleted_at: deleted ? '2030-01-01T00:00:00.000Z' : null,
            };
          }
        }
      }
    }
  }
}
