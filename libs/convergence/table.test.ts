/** Walks the table in the header of `step.ts`: every input in every state. */
import { describe, expect, it } from 'vitest';
import type { Input } from './protocol.ts';
import { goodResponse, newStack, planOf, targetOf, toolsAt, type Wishes } from './simulation/model.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const wishes = (value: number): Wishes => ({
  a: { requires: [], value, kind: 1 },
  b: { requires: [], value, kind: 1 },
});
const take = (state: State, input: Input) => step(state, [input], toolsAt(0));
const fresh = (onFailure: 'keep' | 'pause' = 'keep'): State =>
  loadState({
    stack: newStack('s', { target: targetOf('1'), on_failure: onFailure }),
    resources: [],
    plan: emptyPlan(),
  });
const update = (value: number): Input => ({
  kind: 'update',
  id: `update ${value}`,
  plan: planOf(wishes(value)),
  target: targetOf(String(value)),
});
const create: Input = { kind: 'create', id: 'create', plan: planOf(wishes(1)) };

let answers = 0;
/** Answers all requests, until none is pending. */
function answer(state: State, status: 'complete' | 'failed' = 'complete', most = Infinity): State {
  for (let count = 0; count < most; count += 1) {
    const [id] = state.inFlight;
    const resource = id === undefined ? undefined : state.resources.get(id);
    if (!resource) return state;
    const error = { code: 'ResourceFailed', message: 'no' };
    const response = { ...goodResponse(resource), status, ...(status === 'failed' && { error }) };
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
  (name: string) =>
  (state: State): Input => ({
    kind: 'timer',
    id: name,
    timer: name,
    traversal: state.stack.traversal,
  });
const word = (action: Extract<Input, { kind: 'resource' }>['action']): Input => ({
  kind: 'resource',
  id: action.kind,
  resource: 'a',
  action,
});
const inputs: Readonly<Record<string, Input | ((state: State) => Input)>> = {
  create: { ...create, id: 'create again' },
  update: update(3),
  restore: { ...(update(3) as Extract<Input, { kind: 'update' }>), as: 'RESTORE' },
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
  mark: word({ kind: 'mark', unhealthy: true, reason: 'bad' }),
  skip: word({ kind: 'skip' }),
  'clear hook': word({ kind: 'clear hook', hook: 'pre-create' }),
  heartbeat: word({ kind: 'heartbeat', hook: 'launching', token: 'old' }),
  'complete hook': word({ kind: 'complete hook', hook: 'launching', token: 'old', result: 'continue' }),
  deadline: timer('deadline'),
  grace: timer('grace'),
  batch: timer('batch'),
  'old deadline': { kind: 'timer', id: 'old', timer: 'deadline', traversal: 'an older one' },
};

/** Result of the input: `refused`, `nothing`, or the new state of the stack. */
function outcome(from: () => State, input: Input | ((state: State) => Input)): string {
  const state = from();
  const { traversal } = state.stack;
  const given = typeof input === 'function' ? input(state) : input;
  const { changes, refusals } = take(state, given);
  const { action, status, phase } = state.stack;
  if (refusals.size > 0) return 'refused';
  const touched = changes.resources.size + changes.removed.size + changes.effects.length > 0;
  if (!touched && state.stack.traversal === traversal) return 'nothing';
  const at = phase === 'idle' ? `${action}_${status}` : `${action} ${status === 'FAILED' ? 'cancelled' : phase}`;
  return state.stack.traversal === traversal ? `noted: ${at}` : at;
}

const everywhere = Object.keys(states);

/** Result of each input, by state; in all other states the input is refused. */
const table: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  create: {
    nothing: everywhere,
  },
  update: {
    'UPDATE converging': [
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE converging',
      'UPDATE converging',
      'UPDATE draining',
      'CREATE cancelled',
      'CREATE paused',
      'CHECK converging',
    ],
  },
  restore: {
    'RESTORE converging': [
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE converging',
      'UPDATE converging',
      'UPDATE draining',
      'CREATE cancelled',
      'CREATE paused',
      'CHECK converging',
    ],
  },
  delete: {
    'DELETE converging': [
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE converging',
      'UPDATE converging',
      'UPDATE draining',
      'CREATE cancelled',
      'CREATE paused',
      'CHECK converging',
      'SUSPEND_COMPLETE',
      'SNAPSHOT_COMPLETE while suspended',
    ],
    nothing: ['DELETE converging'],
  },
  abandon: {
    DELETE_COMPLETE: [
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE paused',
      'SUSPEND_COMPLETE',
      'SNAPSHOT_COMPLETE while suspended',
    ],
    'DELETE converging': [
      'CREATE converging',
      'UPDATE converging',
      'UPDATE draining',
      'CREATE cancelled',
      'CHECK converging',
      'DELETE converging',
    ],
  },
  check: {
    'CHECK converging': ['CREATE_COMPLETE', 'CREATE cancelled'],
    CHECK_FAILED: ['CREATE_FAILED'],
  },
  suspend: {
    'SUSPEND converging': ['CREATE_COMPLETE', 'CREATE cancelled'],
    SUSPEND_FAILED: ['CREATE_FAILED'],
    SUSPEND_COMPLETE: ['SNAPSHOT_COMPLETE while suspended'],
    nothing: ['SUSPEND_COMPLETE'],
  },
  resume: {
    'RESUME converging': ['SUSPEND_COMPLETE', 'SNAPSHOT_COMPLETE while suspended'],
  },
  snapshot: {
    'SNAPSHOT converging': [
      'CREATE_COMPLETE',
      'CREATE cancelled',
      'SUSPEND_COMPLETE',
      'SNAPSHOT_COMPLETE while suspended',
    ],
    SNAPSHOT_FAILED: ['CREATE_FAILED'],
  },
  rollback: {
    'ROLLBACK converging': [
      'CREATE_FAILED',
      'CREATE converging',
      'UPDATE converging',
      'UPDATE draining',
      'CREATE cancelled',
      'CREATE paused',
    ],
  },
  'cancel with rollback': {
    'ROLLBACK converging': ['UPDATE converging', 'UPDATE draining'],
  },
  cancel: {
    'CREATE cancelled': ['CREATE converging'],
    'UPDATE cancelled': ['UPDATE converging', 'UPDATE draining'],
    CREATE_FAILED: ['CREATE paused'],
  },
  retry: {
    'CREATE converging': ['CREATE_FAILED', 'CREATE cancelled', 'CREATE paused'],
  },
  mark: {
    'noted: CREATE_COMPLETE': ['CREATE_COMPLETE'],
    nothing: ['CREATE_FAILED'],
    'noted: SUSPEND_COMPLETE': ['SUSPEND_COMPLETE'],
    'noted: SNAPSHOT_COMPLETE': ['SNAPSHOT_COMPLETE while suspended'],
  },
  skip: {
    'noted: CREATE_FAILED': ['CREATE_FAILED'],
    'noted: CREATE paused': ['CREATE paused'],
  },
  'clear hook': {},
  heartbeat: {},
  'complete hook': {},
  deadline: {
    nothing: [
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE paused',
      'SUSPEND_COMPLETE',
      'SNAPSHOT_COMPLETE while suspended',
      'DELETE_COMPLETE',
    ],
    'noted: CREATE_FAILED': ['CREATE converging', 'CREATE cancelled'],
    'noted: UPDATE_FAILED': ['UPDATE converging', 'UPDATE draining'],
    'noted: CHECK_FAILED': ['CHECK converging'],
    'noted: DELETE_FAILED': ['DELETE converging'],
  },
  grace: {
    nothing: everywhere,
  },
  batch: {
    nothing: everywhere,
  },
  'old deadline': {
    nothing: everywhere,
  },
};

describe('the table of transitions', () => {
  for (const [name, input] of Object.entries(inputs)) {
    it(`says what ${name} does in every state`, () => {
      const expected = Object.entries(table[name] ?? {});
      for (const [state, from] of Object.entries(states)) {
        const [said = 'refused'] = expected.find(([, where]) => where.includes(state)) ?? [];
        expect(`${state}: ${outcome(from, input)}`).toBe(`${state}: ${said}`);
      }
    });
  }
});
