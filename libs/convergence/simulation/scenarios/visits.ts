/** Scenarios of checks, suspensions, snapshots and adoptions. */
import type { Input } from '../../protocol.ts';
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import { newSimulatedStack, simulatedPlan, simulatedTarget, type DesiredResources } from '../model.ts';
import { chain, type Scenarios } from '../script.ts';

/** The scenarios by the situation that they set up. */
export const visitScenarios: Scenarios = {
  'a check names every failed resource, and the next update recreates them': (script) => {
    script
      .create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }), c: desiredResource({ type: 'Plain' }) })
      .ends('CREATE_COMPLETE');
    script.failing().say({ kind: 'visit', id: 'check', action: 'CHECK' }).ends('CHECK_FAILED');
    must(script.world.stack('s').failures.length === 2, 'not all that failed are named');
    must(script.find('c').reason === 'CHECK not supported for Plain', script.find('c').reason);
    const before = script.find('a').id;
    script
      .behaving()
      .update({ a: desiredResource(), b: desiredResource({ requires: ['a'] }), c: desiredResource({ type: 'Plain' }) })
      .ends('UPDATE_COMPLETE');
    must(script.find('a').id !== before, 'what was unhealthy was kept');
  },
  'a check of a failed create fails what was not created, and the next update creates it': (script) => {
    const wishes = { a: desiredResource(), b: desiredResource({ requires: ['a'] }) };
    script.failing().create(wishes).ends('CREATE_FAILED').behaving();
    for (const id of ['one', 'two']) script.say({ kind: 'visit', id, action: 'CHECK' }).ends('CHECK_FAILED');
    const { action, status } = script.find('a');
    must(`${action}_${status}` === 'CHECK_FAILED' && script.resources.length === 1, `${action}_${status}`);
    script.update(wishes).ends('UPDATE_COMPLETE');
  },
  'suspension goes before what it stands on, and back': (script) => {
    script.create(chain).ends('CREATE_COMPLETE').say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' });
    must(script.find('c').action === 'SUSPEND' && script.find('a').action === 'CREATE', 'a was suspended before c');
    script.ends('SUSPEND_COMPLETE').say({ kind: 'visit', id: 'resume', action: 'RESUME' });
    must(script.find('a').action === 'RESUME' && script.find('c').action === 'SUSPEND', 'c was resumed before a');
    script
      .ends('RESUME_COMPLETE')
      .update({ ...chain, a: desiredResource({ value: 4 }) })
      .ends('UPDATE_COMPLETE');
  },
  'a snapshot of what is suspended leaves it suspended, also when it fails': (script) => {
    const snapshot = (id: string): Input => ({ kind: 'visit', id, action: 'SNAPSHOT', snapshot: { id, name: id } });
    script.create({ ...chain, d: desiredResource({ type: 'Nested', requires: ['c'] }) }).ends('CREATE_COMPLETE');
    script.say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' }).ends('SUSPEND_COMPLETE');
    script.failing().say(snapshot('one')).ends('SNAPSHOT_FAILED');
    script.behaving().say(snapshot('two')).ends('SNAPSHOT_COMPLETE');
    must(
      script.resources.every(({ action, status }) => `${action}_${status}` === 'SUSPEND_COMPLETE'),
      'one is awake',
    );
    script.update(chain).ends('SNAPSHOT_COMPLETE');
    script.say({ kind: 'visit', id: 'resume', action: 'RESUME' }).ends('RESUME_COMPLETE');
    script.update(chain).ends('UPDATE_COMPLETE');
  },
  'a resource that was never requested is skipped by a suspend, without a request': (script) => {
    script.create({ a: desiredResource({ broken: true }), b: desiredResource() }).ends('CREATE_FAILED');
    script.say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' }).ends('SUSPEND_FAILED');
    script.say({ kind: 'resource', id: 'skip', resource: 'a', action: { kind: 'skip' } }).ends('SUSPEND_COMPLETE');
    script.say({ kind: 'visit', id: 'resume', action: 'RESUME' }).ends('RESUME_COMPLETE');
    must(script.find('a').fence === 0, 'a provider was asked about what it never made');
  },
  'what is gone is deleted without the snapshot that was to be made of it': (script) => {
    script.create({ a: desiredResource({ snapshot: true }), b: desiredResource() }).ends('CREATE_COMPLETE');
    script.world.books.physical.delete(script.find('a').id);
    script.update({ b: desiredResource() }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 1, 'what is gone is still known');
  },
  'the next update recreates an object that a snapshot found missing': (script) => {
    script.create({ a: desiredResource() }).ends('CREATE_COMPLETE');
    const before = script.find('a').id;
    script.world.books.physical.delete(before);
    const snapshot = { id: 'snapshot', name: 'snapshot' };
    script.say({ kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot }).ends('SNAPSHOT_FAILED');
    script.update({ a: desiredResource() }).ends('UPDATE_COMPLETE');
    must(script.find('a').id !== before, 'a missing object counts as healthy');
  },
  'what is abandoned stays, and is forgotten': (script) => {
    script.create({ ...chain, n: desiredResource({ type: 'Nested', value: 3 }) }).ends('CREATE_COMPLETE');
    const { size } = script.world.books.physical;
    script.say({ kind: 'delete', id: 'abandon', abandon: true }).ends('DELETE_COMPLETE');
    must(script.world.books.physical.size === size, 'something was deleted');
    must(script.resources.length === 0, 'something is still known');
  },
  'an external object is looked at, used, and left alone': (script) => {
    const wishes = (value: number): DesiredResources => ({
      e: desiredResource({ external: 'x-1' }),
      b: desiredResource({ requires: ['e'], value }),
    });
    script.create(wishes(1)).ends('CREATE_COMPLETE');
    const { action, physical_id } = script.find('e');
    must(action === 'CHECK' && physical_id === 'x-1', 'it is not the object that was named');
    script.update(wishes(2)).ends('UPDATE_COMPLETE');
    script.update({ ...wishes(2), e: desiredResource({ external: 'x-2' }) }).ends('UPDATE_FAILED');
    script.update(wishes(2)).ends('UPDATE_COMPLETE');
    script.remove().ends('DELETE_COMPLETE');
  },
  'an update that asks for it observes the objects first': (script) => {
    script.create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script.world.providers.drifting = true;
    script
      .update({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }, { observe: true })
      .ends('UPDATE_COMPLETE');
    must(script.find('a').action === 'UPDATE', `what had drifted was not updated: ${script.find('a').action}`);
  },
  'a stack is adopted by the ids of its objects': (script) => {
    const plan = simulatedPlan({
      a: desiredResource(),
      b: desiredResource({ requires: ['a'] }),
      c: desiredResource({ type: 'Plain' }),
    });
    const adopt = { a: { resource_id: 'A' }, b: { resource_id: 'B' }, c: { resource_id: 'C' } };
    script.world.open(newSimulatedStack('s', { target: simulatedTarget(script.world.addPlan(plan)), adopt }));
    script.say({ kind: 'create', id: 'create', plan }).ends('ADOPT_COMPLETE');
    must(script.find('b').physical_id === 'B' && script.find('b').action === 'ADOPT', 'it was not taken over');
  },
};
