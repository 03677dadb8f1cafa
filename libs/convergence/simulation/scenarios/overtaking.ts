/** Scenarios in which a newer request replaces one that its provider never answers. */
import type { ResourceDocument } from '../../documents.ts';
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import type { DesiredResource, DesiredResources } from '../model.ts';
import { pending, type Script, type Scenarios } from '../script.ts';

const latest = (more: Partial<DesiredResource> = {}): DesiredResource => desiredResource({ type: 'Latest', ...more });

/** `a` hangs; `b` needs it. */
const pair = (more: Partial<DesiredResource> = {}): DesiredResources => ({
  a: latest(more),
  b: desiredResource({ requires: ['a'] }),
});

/** Runs until the provider has a request for `a` that it does not answer. */
function hangs(script: Script, action: string): void {
  script.world.providers.silent = true;
  script.until(pending(script, 'a', action));
  const { now } = script.world.clock;
  script.until(() => script.world.clock.now > now + 500 || script.world.stack('s').phase === 'idle');
  script.world.providers.silent = false;
  must(pending(script, 'a', action)(), `the ${action} of a does not hang`);
}

/** The deadline is an hour, and the grace of a deletion five seconds. */
function endsWithout(script: Script, waitingMs: number, status: string): void {
  const { now } = script.world.clock;
  script.ends(status);
  const took = script.world.clock.now - now;
  must(took < waitingMs, `it took ${took} ms`);
}

/** The scenarios by the situation that they set up. */
export const overtakingScenarios: Scenarios = {
  'a creation that hangs is overtaken by an update': (script) => {
    script.create(pair());
    hangs(script, 'create');
    const { id } = script.find('a');
    script.update(pair({ value: 2 }));
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.find('a').id === id && script.find('a').action === 'CREATE', 'a was not created again in its place');
    must(script.find('a').properties['value'] === 2, 'a does not have the newer value');
  },
  'an update that hangs is overtaken by another one, and by a third': (script) => {
    script.create(pair()).ends('CREATE_COMPLETE');
    script.update(pair({ value: 2 }));
    hangs(script, 'update');
    script.update(pair({ value: 3 })).update(pair({ value: 4 }));
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.find('a').properties['value'] === 4, 'a does not have the last value');
    must(script.find('a').attempted === null, 'a mark of what was overtaken is left');
  },
  'an update that hangs is rolled back': (script) => {
    script.create(pair()).ends('CREATE_COMPLETE');
    script.update(pair({ value: 2 }));
    hangs(script, 'update');
    script.say({ kind: 'rollback', id: 'back', cancel: true });
    const { request } = script.find('a');
    must(request?.action === 'update' && request.changed.includes('value'), 'the old value is not sent again');
    endsWithout(script, 30_000, 'ROLLBACK_COMPLETE');
    must(script.find('a').properties['value'] === 1, 'a does not have the old value');
  },
  'an update that hangs is overtaken by one that changes something else': (script) => {
    const wanted = (value: number): DesiredResources => ({
      z: desiredResource({ value }),
      a: latest({ value: Math.min(value, 2), requires: ['z'] }),
    });
    script.create(wanted(1)).ends('CREATE_COMPLETE');
    script.update({ ...wanted(2), z: desiredResource() });
    hangs(script, 'update');
    script.update(wanted(3)).until(() => script.find('a').request?.traversal === script.world.stack('s').traversal);
    const changed = script.find('a').request?.changed ?? [];
    must(changed.includes('value') && changed.includes('from'), `only ${changed.join()} is sent`);
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
  },
  'a failure elsewhere rolls back what hangs': (script) => {
    script.create({ ...pair(), c: desiredResource() }, 'rollback').ends('CREATE_COMPLETE');
    script.update({ ...pair({ value: 2 }), c: desiredResource({ value: 2, broken: true }), d: latest() });
    endsWithout(script, 30_000, 'ROLLBACK_COMPLETE');
    must(script.resources.length === 3, 'something that the rollback does not want is left');
  },
  'an answer to what was overtaken comes late': (script) => {
    script.create(pair());
    hangs(script, 'create');
    const { id: resource_id, stack_id, request } = script.find('a');
    script.update(pair({ value: 2 }));
    const late = { resource_id, stack_id, action: 'create', fence: request?.fence ?? 0, status: 'complete' } as const;
    script.say({ kind: 'response', id: 'late', response: { ...late, attributes: { output: 'old' } } });
    must(pending(script, 'a', 'create')(), 'the late answer ended the newer request');
    must(script.find('a').attributes['output'] !== 'old', 'a shows what was overtaken');
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
  },
  'a creation that hangs must be replaced, in an update that may roll back': (script) => {
    script.create({ b: desiredResource() }, 'rollback').ends('CREATE_COMPLETE');
    script.update({ ...pair(), b: desiredResource({ value: 2 }) });
    hangs(script, 'create');
    const { id } = script.find('a');
    script.update({ ...pair({ kind: 2 }), b: desiredResource({ value: 3 }) });
    must(pending(script, 'a', 'delete')(), 'what hangs is not deleted first');
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.find('a').id !== id && script.resources.length === 2, 'a was not replaced');
  },
  'a creation that hangs is removed, in an update that may roll back': (script) => {
    script.create({ b: desiredResource() }, 'rollback').ends('CREATE_COMPLETE');
    script.update({ b: desiredResource(), a: latest() });
    hangs(script, 'create');
    script.update({ b: desiredResource({ value: 2 }), c: desiredResource() });
    must(pending(script, 'a', 'delete')(), 'what hangs is not deleted at once');
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.resources.length === 2, 'what was removed is still there');
  },
  'a replacement hangs, and the original is wanted again': (script) => {
    script.create(pair(), 'rollback').ends('CREATE_COMPLETE');
    const { id } = script.find('a');
    script.update(pair({ kind: 2 }));
    hangs(script, 'create');
    script.update(pair({ value: 2 }));
    const begun = script.resources.filter(({ request }) => request).map(({ request }) => request?.action);
    must(begun.includes('delete') && begun.includes('update'), `the requests are ${begun.join()}`);
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.find('a').id === id && script.resources.length === 2, 'the original was not taken back');
  },
  'an original hangs, and its replacement does not wait for it': (script) => {
    script.create(pair()).ends('CREATE_COMPLETE');
    script.update(pair({ value: 2 }));
    hangs(script, 'update');
    script.update(pair({ value: 2, kind: 2 }));
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.resources.length === 2, 'the original is left');
  },
  'an original hangs, and its provider is asked to stop when its replacement is made': (script) => {
    script.create(pair()).ends('CREATE_COMPLETE');
    script.update(pair({ value: 2 }));
    hangs(script, 'update');
    const { id } = script.find('a');
    script.update(pair({ value: 2, kind: 2 }));
    const original = (): ResourceDocument | undefined => script.resources.find((each) => each.id === id);
    script.until(() => original()?.request?.action !== 'update');
    must(original()?.failure?.code === 'Superseded', 'the provider was not asked to stop');
    endsWithout(script, 30_000, 'UPDATE_COMPLETE');
    must(script.resources.length === 2, 'the original is left');
  },
  'a deletion does not spend its grace on what it may overtake': (script) => {
    script.create({ a: latest() });
    hangs(script, 'create');
    script.remove();
    endsWithout(script, 4000, 'DELETE_COMPLETE');
  },
  'a hook, a policy and an unchanged resource keep a request in flight': (script) => {
    const kept = { a: latest({ hooks: ['pre-update'] }), c: latest({ retain: true }), d: latest() };
    script.world.providers.silent = true;
    script.create(kept).until(pending(script, 'd', 'create'));
    const fences = script.resources.map(({ fence }) => fence).join();
    script.update({ a: { ...kept.a, value: 2 }, d: kept.d });
    must(script.resources.map(({ fence }) => fence).join() === fences, 'a request was overtaken');
  },
};
