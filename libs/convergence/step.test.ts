import { describe, expect, it } from 'vitest';
import type { Changes, Input, Tools } from './protocol.ts';
import {
  successResponse,
  newSimulatedStack,
  simulatedPlan,
  toolsAt,
  type DesiredResource,
} from './simulation/model.ts';
import type { ResourceDocument } from './documents.ts';
import { emptyPlan, loadState, type State } from './state.ts';
import { step } from './step.ts';

const wish = (more: Partial<DesiredResource> = {}): DesiredResource => ({ requires: [], value: 1, kind: 1, ...more });
const fresh = (): State => loadState({ stack: newSimulatedStack('s'), resources: [], plan: emptyPlan() });

/** Steps, and returns the requests that were sent: `create a`. */
function take(state: State, input: Input, now = 0): string[] {
  const { changes } = step(state, [input], toolsAt(now));
  return requestsOf(changes);
}
const requestsOf = (changes: Changes): string[] =>
  changes.effects.flatMap((effect) => {
    const resource = effect.kind === 'request' ? changes.resources.get(effect.resource) : undefined;
    return resource?.request ? [`${resource.request.action} ${resource.name}`] : [];
  });

const find = (state: State, name: string, where: (resource: ResourceDocument) => boolean = () => true) => {
  const found = [...state.resources.values()].find((resource) => resource.name === name && where(resource));
  if (!found) throw new Error(`no resource ${name}`);
  return found;
};
const pending = (state: State, name: string): ResourceDocument => find(state, name, ({ request }) => request !== null);

let count = 0;
const answer = (state: State, name: string, more: { status?: 'failed'; replace?: boolean } = {}): string[] => {
  const response = { ...successResponse(pending(state, name)), ...more };
  if (more.status && !more.replace) Object.assign(response, { error: { code: 'ResourceFailed', message: 'no' } });
  return take(state, { kind: 'response', id: `answer ${(count += 1)}`, response });
};
const create = (state: State, wishes: Record<string, DesiredResource>): string[] =>
  take(state, { kind: 'create', id: 'create', plan: simulatedPlan(wishes) });
const update = (state: State, wishes: Record<string, DesiredResource>, id = `update ${(count += 1)}`): string[] =>
  take(state, {
    kind: 'update',
    id,
    plan: simulatedPlan(wishes),
    target: { ...state.stack.target, plan: JSON.stringify(wishes) },
  });
/** Another update to the same plan. */
const renew = (state: State, wishes: Record<string, DesiredResource>, revision: string): string[] =>
  take(state, {
    kind: 'update',
    id: revision,
    plan: simulatedPlan(wishes),
    target: { ...state.stack.target, revision },
  });
const remove = (state: State): string[] => take(state, { kind: 'delete', id: `delete ${(count += 1)}` });
const status = (state: State): string => `${state.stack.action}_${state.stack.status}`;

/** Answers all requests, and returns them in the order of sending. */
function finish(state: State, asked: string[]): string[] {
  const all = [...asked];
  for (let index = 0; index < all.length; index += 1) all.push(...answer(state, all[index]?.split(' ')[1] ?? ''));
  return all;
}

describe('a bounded step', () => {
  const names = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const plan = simulatedPlan(Object.fromEntries(names.map((name) => [name, wish()])));
  const tools = { ...toolsAt(0), most: 10 };
  /** Steps without inputs until a step is not partial; returns the changed documents of each step. */
  const proceed = (state: State, inputs: readonly Input[]): string[][] => {
    const steps: string[][] = [];
    for (let next = inputs; ; next = []) {
      const { changes, isPartial } = step(state, next, tools);
      steps.push([...changes.resources.values()].map(({ name }) => name));
      if (!isPartial) return steps;
    }
  };

  it('changes at most as many documents as the limit, and leaves the others to the next step', () => {
    const state = fresh();
    const steps = proceed(state, [{ kind: 'create', id: 'create', plan }]);
    expect(steps.map(({ length }) => length)).toEqual(names.map(() => 10).slice(0, 10));
    expect(steps.flat()).toEqual(names);
    expect(state.inFlight.size).toBe(100);
  });

  it('continues in another process, even though its input is a repeat there', () => {
    const state = fresh();
    const input: Input = { kind: 'create', id: 'create', plan };
    expect(step(state, [input], tools).isPartial).toBe(true);
    const loaded = loadState({ stack: state.stack, resources: state.resources.values(), plan });
    expect(proceed(loaded, [input]).flat()).toEqual(names.slice(10));
    expect(loaded.inFlight.size).toBe(100);
  });

  it('visits a limited number of nodes when nothing has changed', () => {
    const state = fresh();
    proceed(state, [{ kind: 'create', id: 'create', plan }]);
    for (const name of names) answer(state, name);
    const target = { ...state.stack.target, plan: 'again' };
    const steps = proceed(state, [{ kind: 'update', id: 'again', plan, target }]);
    expect(steps.flat()).toEqual([]);
    expect(steps.length).toBeGreaterThan(1);
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('does not continue while the requests in flight reach the limit', () => {
    const state = fresh();
    const limited = { ...tools, limit: 5 };
    const { changes, isPartial } = step(state, [{ kind: 'create', id: 'create', plan }], limited);
    expect([requestsOf(changes).length, isPartial]).toEqual([5, false]);
  });
});

describe('the graph', () => {
  it('C1: works in parallel on all resources whose requirements are complete', () => {
    const state = fresh();
    const diamond = {
      a: wish(),
      b: wish({ requires: ['a'] }),
      c: wish({ requires: ['a'] }),
      d: wish({ requires: ['b', 'c'] }),
    };
    expect(create(state, diamond)).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['create b', 'create c']);
    expect(answer(state, 'b')).toEqual([]);
    expect(answer(state, 'c')).toEqual(['create d']);
    expect(answer(state, 'd')).toEqual([]);
    expect(status(state)).toBe('CREATE_COMPLETE');
    expect(finish(state, remove(state))).toEqual(['delete d', 'delete b', 'delete c', 'delete a']);
    expect(status(state)).toBe('DELETE_COMPLETE');
  });

  it('C7: creates a replacement, updates the users of the original, and only then deletes the original', () => {
    const state = fresh();
    const before = { a: wish(), b: wish({ requires: ['a'] }) };
    finish(state, create(state, before));
    const original = find(state, 'a').id;
    expect(update(state, { ...before, a: wish({ kind: 2 }) })).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['update b']);
    expect(answer(state, 'b')).toEqual(['delete a']);
    expect(pending(state, 'a').id).toBe(original);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(find(state, 'a').replaces).toBe(original);
  });

  it('replaces when only the provider reports the need', () => {
    const state = fresh();
    finish(state, create(state, { a: wish() }));
    expect(update(state, { a: wish({ value: 2 }) })).toEqual(['update a']);
    expect(answer(state, 'a', { status: 'failed', replace: true })).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('deletes an obsolete resource after its users were updated, also when a dependency is reversed', () => {
    const state = fresh();
    finish(state, create(state, { a: wish(), b: wish({ requires: ['a'] }), x: wish(), y: wish({ requires: ['x'] }) }));
    const asked = update(state, { b: wish(), a: wish({ requires: ['b'] }), y: wish() });
    expect(asked).toEqual(['update b', 'update y']);
    expect(answer(state, 'y')).toEqual(['delete x']);
    expect(answer(state, 'b')).toEqual(['update a']);
    answer(state, 'x');
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('C8: sends nothing for unchanged resources, and ends at once', () => {
    const state = fresh();
    finish(state, create(state, { a: wish(), b: wish({ requires: ['a'] }) }));
    expect(update(state, { a: wish(), b: wish({ requires: ['a'] }) })).toEqual([]);
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('C8: renews a renewable resource once per update, and not again in a retry', () => {
    const state = fresh();
    const wishes = { h: wish({ renewed: true }), w: wish({ requires: ['h'] }) };
    finish(state, create(state, wishes));
    const original = find(state, 'h').id;
    expect(renew(state, wishes, 'one')).toEqual(['create h']);
    expect(answer(state, 'h')).toEqual(['update w']);
    expect(answer(state, 'w', { status: 'failed' })).toEqual([]);
    expect(status(state)).toBe('UPDATE_FAILED');
    expect(take(state, { kind: 'retry', id: 'retry' })).toEqual(['create w']);
    expect(finish(state, answer(state, 'w'))).toEqual(['delete w', 'delete h']);
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(find(state, 'h').id).not.toBe(original);
    expect(renew(state, wishes, 'two')).toEqual(['create h']);
  });

  it('restores in a rollback the resources that the update renewed', () => {
    const state = fresh();
    const wishes = { h: wish({ renewed: true }), w: wish({ requires: ['h'] }) };
    finish(state, create(state, wishes));
    const original = find(state, 'h').id;
    renew(state, wishes, 'one');
    answer(state, 'h');
    answer(state, 'w', { status: 'failed' });
    const asked = take(state, { kind: 'rollback', id: 'back', cancel: false });
    expect(asked).not.toContain('create h');
    finish(state, asked);
    expect(status(state)).toBe('ROLLBACK_COMPLETE');
    expect(find(state, 'h').id).toBe(original);
  });

  it('enters a nested stack for resources that are renewed there', () => {
    const state = fresh();
    const wishes = { n: wish({ type: 'Nested', renewed: true }) };
    finish(state, create(state, wishes));
    expect(renew(state, wishes, 'one')).toEqual(['update n']);
  });

  it('C9: never restores an external object after its replacement', () => {
    const state = fresh();
    finish(state, create(state, { a: wish({ external: 'theirs' }) }));
    expect(update(state, { a: wish({ type: 'Plain' }) })).toEqual(['create a']);
    answer(state, 'a', { status: 'failed' });
    expect(update(state, { a: wish({ value: 2 }) })).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(find(state, 'a').external).toBe(false);
    expect(state.resources.size).toBe(1);
  });

  it('removes the resource but keeps its object with deletion policy Retain', () => {
    const state = fresh();
    const plan = simulatedPlan({ a: wish() });
    const kept = { ...plan, resources: { a: { ...plan.resources['a'], deletion_policy: 'Retain' } } } as typeof plan;
    finish(state, take(state, { kind: 'create', id: 'create', plan: kept }));
    expect(remove(state)).toEqual([]);
    expect(status(state)).toBe('DELETE_COMPLETE');
    expect(state.resources.size).toBe(0);
  });
});

describe('event sinks', () => {
  const sinksOf = (state: State, input: Input): unknown[] =>
    step(state, [input], toolsAt(0)).changes.events.flatMap(({ event_sinks: sinks }) => (sinks ? [sinks] : []));
  const event_sinks = [{ type: 'zaqar-queue' as const, target: 'q', ttl: 60 }];
  const wishes = { a: wish() };
  const plan = { ...simulatedPlan(wishes), event_sinks };
  const updated = (state: State, next: typeof plan | ReturnType<typeof simulatedPlan>, name: string): unknown[] =>
    sinksOf(state, { kind: 'update', id: name, plan: next, target: { ...state.stack.target, plan: name } });

  it('are in the event that begins to follow their plan, and an empty list is in the event that leaves it', () => {
    const state = fresh();
    expect(sinksOf(state, { kind: 'create', id: 'create', plan })).toEqual([event_sinks]);
    answer(state, 'a');
    expect(sinksOf(state, { kind: 'visit', id: 'check', action: 'CHECK' })).toEqual([]);
    answer(state, 'a');
    expect(updated(state, simulatedPlan(wishes), 'without')).toEqual([[]]);
    expect(updated(state, simulatedPlan(wishes), 'without again')).toEqual([]);
    expect(updated(state, plan, 'with')).toEqual([event_sinks]);
    // The events of the deletion go to the same sinks.
    expect(sinksOf(state, { kind: 'delete', id: 'delete' })).toEqual([]);
  });

  it('are those of the last complete plan after a rollback, and stay when there is none', () => {
    const state = fresh();
    expect(sinksOf(state, { kind: 'create', id: 'create', plan })).toEqual([event_sinks]);
    expect(sinksOf(state, { kind: 'rollback', id: 'to nothing', cancel: false })).toEqual([]);
    const other = fresh();
    expect(sinksOf(other, { kind: 'create', id: 'create', plan: simulatedPlan(wishes) })).toEqual([]);
    answer(other, 'a');
    expect(updated(other, { ...plan, ...simulatedPlan({ a: wish({ value: 2 }) }), event_sinks }, 'with')).toHaveLength(
      1,
    );
    expect(sinksOf(other, { kind: 'rollback', id: 'rollback', cancel: false })).toEqual([[]]);
  });
});

describe('a failure', () => {
  it('starts no further request, awaits running ones, and names all failed resources', () => {
    const state = fresh();
    expect(create(state, { a: wish(), b: wish(), c: wish(), d: wish({ requires: ['a'] }) })).toHaveLength(3);
    answer(state, 'b', { status: 'failed' });
    expect(status(state)).toBe('CREATE_IN_PROGRESS');
    expect(answer(state, 'a')).toEqual([]);
    answer(state, 'c', { status: 'failed' });
    expect(status(state)).toBe('CREATE_FAILED');
    expect(state.stack.reason).toBe('Resource CREATE failed: ResourceFailed: resources.b: no');
    expect(state.stack.failures.map(({ resource }) => resource)).toEqual(['b', 'c']);
    expect(find(state, 'a').status).toBe('COMPLETE');
  });

  it('recovers by an update, which recreates the failed resource and deletes the failed object', () => {
    const state = fresh();
    create(state, { a: wish() });
    answer(state, 'a', { status: 'failed' });
    expect(update(state, { a: wish() })).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(state.resources.size).toBe(1);
  });

  it('of a replacement keeps the original, which a return to the old plan restores', () => {
    const state = fresh();
    finish(state, create(state, { a: wish() }));
    const original = find(state, 'a').id;
    update(state, { a: wish({ kind: 2 }) });
    answer(state, 'a', { status: 'failed' });
    expect(update(state, { a: wish() })).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(find(state, 'a')).toMatchObject({ id: original, replaced_by: null });
  });
});

describe('an operator action on a resource', () => {
  const mark = (state: State, resource: string) => {
    const action = { kind: 'mark', unhealthy: true, reason: 'bad' } as const;
    return step(state, [{ kind: 'resource', id: `mark ${(count += 1)}`, resource, action }], toolsAt(0)).refusals;
  };

  it('accepts its physical id, unless several resources have it', () => {
    const state = fresh();
    finish(state, create(state, { a: wish(), b: wish(), c: wish() }));
    expect(mark(state, find(state, 'a').physical_id ?? '').size).toBe(0);
    expect(find(state, 'a')).toMatchObject({ action: 'CHECK', status: 'FAILED', reason: 'bad' });
    for (const name of ['b', 'c']) Object.assign(find(state, name), { physical_id: 'same' });
    expect([...mark(state, 'same').values()]).toMatchObject([{ code: 'InvalidRequest' }]);
    expect([...mark(state, 'absent').values()]).toMatchObject([{ code: 'NotFound' }]);
  });
});

describe('skipping', () => {
  it('continues also after a failed retry', () => {
    const state = fresh();
    state.stack = { ...state.stack, on_failure: 'pause' };
    create(state, { a: wish(), b: wish({ requires: ['a'] }) });
    answer(state, 'a', { status: 'failed' });
    expect(take(state, { kind: 'retry', id: 'retry' })).toEqual(['create a']);
    answer(state, 'a', { status: 'failed' });
    expect(state.stack.phase).toBe('paused');
    const skip = { kind: 'resource', id: 'skip', resource: 'a', action: { kind: 'skip' } } as const;
    expect(take(state, skip).toSorted()).toEqual(['create b', 'delete a']);
    for (const name of ['b', 'a']) answer(state, name);
    expect(status(state)).toBe('CREATE_COMPLETE');
    expect(state.resources.size).toBe(2);
  });
});

describe('a visit', () => {
  it('reports a resource in an unsuitable state as its own failure', () => {
    const state = fresh();
    finish(state, create(state, { a: wish() }));
    update(state, { a: wish({ value: 2 }) });
    answer(state, 'a', { status: 'failed' });
    take(state, { kind: 'visit', id: 'suspend', action: 'SUSPEND' });
    expect(state.stack.reason).toBe(
      "Resource SUSPEND failed: InvalidState: resources.a: State ('UPDATE', 'FAILED') invalid for suspend",
    );
  });

  it('that checks a failed create marks the failed resource, however often, and the next update creates it', () => {
    const state = fresh();
    const wishes = { ok: wish(), plain: wish({ type: 'Plain' }), behind: wish({ requires: ['plain'] }) };
    create(state, wishes);
    answer(state, 'ok');
    answer(state, 'plain', { status: 'failed' });
    expect(status(state)).toBe('CREATE_FAILED');
    const failed = find(state, 'plain').id;
    for (const id of ['one', 'two']) {
      expect(take(state, { kind: 'visit', id, action: 'CHECK' })).toEqual(['check ok']);
      answer(state, 'ok');
      expect(status(state)).toBe('CHECK_FAILED');
      expect(find(state, 'ok')).toMatchObject({ action: 'CHECK', status: 'COMPLETE' });
      expect(find(state, 'plain')).toMatchObject({
        action: 'CHECK',
        status: 'FAILED',
        reason: 'NotCreated: resources.plain: Its create failed: no',
      });
      expect([...state.resources.values()].map(({ name }) => name).toSorted()).toEqual(['ok', 'plain']);
      const mark = { kind: 'mark', unhealthy: false, reason: '' } as const;
      take(state, { kind: 'resource', id: `mark ${id}`, resource: 'plain', action: mark });
      expect(find(state, 'plain').status).toBe('FAILED');
    }
    expect(state.stack.reason).toBe('Resource CHECK failed: NotCreated: resources.plain: Its create failed: no');
    expect(finish(state, update(state, wishes)).toSorted()).toEqual(['create behind', 'create plain', 'delete plain']);
    expect(status(state)).toBe('UPDATE_COMPLETE');
    expect(find(state, 'plain').id).not.toBe(failed);
  });
});

describe('a newer action', () => {
  it('C4: waits for requests in flight and continues from their results', () => {
    const state = fresh();
    create(state, { a: wish() });
    expect(update(state, { a: wish({ value: 2 }) })).toEqual([]);
    expect(answer(state, 'a')).toEqual(['update a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('does not fail because of a failure of the action that it replaced', () => {
    const state = fresh();
    create(state, { a: wish() });
    update(state, { a: wish({ value: 2 }) });
    expect(answer(state, 'a', { status: 'failed' })).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('continues without a response at the deadline of the replaced action', () => {
    const state = fresh();
    create(state, { a: wish() });
    const { traversal, deadline } = state.stack;
    const old: Input = { kind: 'timer', id: 't', timer: { kind: 'deadline' }, traversal };
    const when = Date.parse(deadline ?? '');
    const plan = simulatedPlan({ a: wish({ value: 2 }) });
    const later: Input = { kind: 'update', id: 'later', plan, target: { ...state.stack.target, plan: 'later' } };
    const { effects } = step(state, [later], toolsAt(when - 1000)).changes;
    expect(effects).not.toContainEqual({ kind: 'cancel timer', timer: { kind: 'deadline' }, traversal });
    expect(take(state, old, when)).toEqual(['create a']);
    expect(answer(state, 'a')).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });

  it('that deletes takes over a resource without a response after its grace, with a higher fence', () => {
    const state = fresh();
    create(state, { a: wish() });
    const late = successResponse(pending(state, 'a'));
    expect(remove(state)).toEqual([]);
    const grace: Input = { kind: 'timer', id: 't', timer: { kind: 'grace' }, traversal: state.stack.traversal };
    expect(take(state, grace)).toEqual(['delete a']);
    expect(pending(state, 'a').request?.fence).toBe(2);
    take(state, { kind: 'response', id: 'late', response: late });
    expect(find(state, 'a')).toMatchObject({ action: 'DELETE', physical_id: late.physical_id });
    answer(state, 'a');
    expect(status(state)).toBe('DELETE_COMPLETE');
  });
});

describe('abandoning', () => {
  it('ends after its grace, also when a deletion is never answered', () => {
    const state = fresh();
    finish(state, create(state, { a: wish() }));
    expect(remove(state)).toEqual(['delete a']);
    take(state, { kind: 'delete', id: 'abandon', abandon: true });
    expect(status(state)).toBe('DELETE_IN_PROGRESS');
    take(state, { kind: 'timer', id: 't', timer: { kind: 'grace' }, traversal: state.stack.traversal });
    expect(status(state)).toBe('DELETE_COMPLETE');
  });
});

describe('time and repeats', () => {
  it('ends at the deadline, with an exit for each resource', () => {
    const state = fresh();
    create(state, { a: wish(), b: wish({ requires: ['a'] }) });
    const deadline: Input = { kind: 'timer', id: 't', timer: { kind: 'deadline' }, traversal: state.stack.traversal };
    take(state, { ...deadline, traversal: 'an older one' });
    expect(status(state)).toBe('CREATE_IN_PROGRESS');
    take(state, deadline);
    expect(state.stack).toMatchObject({ status: 'FAILED', reason: 'Timed out', phase: 'idle' });
    expect(find(state, 'a').failure?.code).toBe('DeadlineExceeded');
    expect(remove(state)).toEqual(['delete a']);
    answer(state, 'a');
    expect(status(state)).toBe('DELETE_COMPLETE');
  });

  it('H4: records nothing for a repeated action, response or timer', () => {
    const state = fresh();
    const input: Input = { kind: 'create', id: 'create', plan: simulatedPlan({ a: wish() }) };
    take(state, input);
    const response = successResponse(pending(state, 'a'));
    take(state, { kind: 'response', id: 'r', response });
    for (const again of [input, { kind: 'response', id: 'r', response } as const]) {
      expect(step(state, [again], toolsAt(0)).changes.dirty).toBe(false);
    }
  });

  it('returns equal changes for equal state and inputs', () => {
    const inputs: Input[] = [
      { kind: 'create', id: 'create', plan: simulatedPlan({ a: wish(), b: wish({ requires: ['a'] }) }) },
    ];
    const [one, other] = [fresh(), fresh()].map((state) => step(state, inputs, toolsAt(7)).changes);
    expect(one).toEqual(other);
  });

  it('handles a chain of thousands of resources at a constant cost per step', () => {
    const size = 3000;
    const wishes = Object.fromEntries(
      Array.from({ length: size }, (_, index) => [
        `r${index}`,
        wish({ requires: index === 0 ? [] : [`r${index - 1}`] }),
      ]),
    );
    const state = fresh();
    let asked = create(state, wishes);
    for (let done = 0; done < size; done += 1) {
      const [name = ''] = asked.map((request) => request.split(' ')[1]);
      const response = { ...successResponse(pending1(state)), attributes: { output: JSON.stringify([name]) } };
      asked = take(state, { kind: 'response', id: `r${done}`, response });
    }
    expect(status(state)).toBe('CREATE_COMPLETE');
    expect(update(state, wishes)).toEqual([]);
    expect(status(state)).toBe('UPDATE_COMPLETE');
  });
  const pending1 = (state: State): ResourceDocument => {
    const [id = ''] = state.inFlight;
    return state.resources.get(id) as ResourceDocument;
  };
});

describe('a step that is tried again', () => {
  const wishes = (names: readonly string[]): Record<string, DesiredResource> =>
    Object.fromEntries(names.map((name) => [name, wish({ requires: name === 'first' ? [] : ['first'] })]));
  /** The ids that the answer of `first` gives to the resources that waited for it, in a state with this order. */
  const idsOf = (names: readonly string[]): Record<string, string> => {
    const state = fresh();
    create(state, wishes(['first', ...names]));
    const resources = [...state.resources.values()].toReversed();
    const again = loadState({ stack: state.stack, resources, plan: simulatedPlan(wishes([...names, 'first'])) });
    take(again, { kind: 'response', id: 'answer', response: successResponse(pending(again, 'first')) });
    return Object.fromEntries(names.map((name) => [name, find(again, name).id]));
  };

  it('gives each resource the id that follows from its name, in whatever order it finds them', () => {
    const ids = idsOf(['a', 'b', 'c']);
    expect(idsOf(['c', 'a', 'b'])).toEqual(ids);
    expect(new Set(Object.values(ids)).size).toBe(3);
  });

  it('asks for all results that are missing at once, and fails nothing', () => {
    const state = fresh();
    const asked: string[] = [];
    const tools: Tools = {
      ...toolsAt(0),
      resolve: ({ resource: { name } }) => {
        asked.push(name);
        return { ok: false, isPending: true, failure: { code: 'Unavailable', message: 'later' } };
      },
    };
    const plan = simulatedPlan({ a: wish(), b: wish(), c: wish() });
    const { changes } = step(state, [{ kind: 'create', id: 'create', plan }], tools);
    expect(asked).toEqual(['a', 'b', 'c']);
    expect(changes.resources.size).toBe(0);
  });
});
