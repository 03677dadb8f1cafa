/** Scenarios of nested stacks and their parent stacks. */
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import type { DesiredResources } from '../model.ts';
import { pending, type Scenarios } from '../script.ts';

/** The scenarios by the situation that they set up. */
export const nestedScenarios: Scenarios = {
  'a nested stack is created, updated, overtaken, rolled back and deleted with the one around it': (script) => {
    const nested = (value: number): DesiredResources => ({
      n: desiredResource({ type: 'Nested', value, kind: 1 }),
      b: desiredResource({ requires: ['n'] }),
    });
    script.create(nested(3)).ends('CREATE_COMPLETE');
    const child = script.find('n').id;
    script.update(nested(8)).until(() => script.world.stack(child).action === 'UPDATE');
    script.update(nested(14)).ends('UPDATE_COMPLETE');
    must(script.world.stack(child).status === 'COMPLETE', 'the nested stack is not complete');
    script.failing().update(nested(20)).ends('UPDATE_FAILED');
    must(/resources\.n\.resources\./.test(script.world.stack('s').reason), script.world.stack('s').reason);
    script.behaving().say({ kind: 'rollback', id: 'back', cancel: false }).ends('ROLLBACK_COMPLETE');
    script.say({ kind: 'visit', id: 'check', action: 'CHECK' }).ends('CHECK_COMPLETE');
    script.remove().ends('DELETE_COMPLETE');
    must(script.world.stack(child).deleted_at !== null, 'the nested stack outlived it');
  },
  'a nested stack follows the newest request, and answers one that comes again': (script) => {
    script.create({ n: desiredResource({ type: 'Nested', value: 3 }) }).ends('CREATE_COMPLETE');
    const { id } = script.find('n');
    const { parent, target } = script.world.stack(id);
    script.update({ n: desiredResource({ type: 'Nested', value: 9 }) }).ends('UPDATE_COMPLETE');
    const reached = script.world.stack(id).target.plan;
    must(parent !== null && reached !== target.plan, 'it did not follow');
    const plan = script.world.planAt(target.plan);
    script.world.take(id, [{ kind: 'update', id: 'an old one', plan, target, parent }]);
    script.ends();
    must(script.world.stack(id).target.plan === reached, 'it went where an older request says');
    const last = script.world.stack(id).parent ?? parent;
    const again = script.world.take(id, [{ kind: 'update', id: 'again', plan, target, parent: last }]);
    must(
      again.changes.effects.some(({ kind: what }) => what === 'answer'),
      'it was not answered again',
    );
  },
  'cancelling ends what a nested stack does, too': (script) => {
    script.create({ n: desiredResource({ type: 'Nested', value: 3 }) });
    const child = script.find('n').id;
    script.until(() => script.world.shells.has(child) && script.world.stack(child).phase === 'converging');
    script.say({ kind: 'cancel', id: 'cancel' }).ends('CREATE_FAILED');
    must(script.world.stack(child).reason === 'Stack CREATE cancelled', script.world.stack(child).reason);
    script.say({ kind: 'retry', id: 'again' }).ends('CREATE_COMPLETE');
  },
  'a nested stack receives the changes made while it worked once it has answered, also after a takeover': (script) => {
    script
      .create({ a: desiredResource(), n: desiredResource({ type: 'Nested', requires: ['a'] }) })
      .until(pending(script, 'n', 'create'));
    script.say({ kind: 'signal', id: 'signal', resource: 'a', signal: {} });
    const { attributes } = script.find('a');
    script.until(() => {
      script.world.shellOf('s').forget();
      return script.find('a').attributes !== attributes;
    });
    must(script.find('n').request?.action === 'create', 'it was overtaken by its own traversal');
    script.ends('CREATE_COMPLETE');
    must(JSON.stringify(script.find('n').properties['from']).includes('null'), 'it did not receive the change');
  },
  'the refusal of a nested stack is reported unchanged, also after an earlier failure inside it': (script) => {
    script.create({ n: desiredResource({ type: 'Nested' }) }).ends('CREATE_COMPLETE');
    const suspend = { kind: 'visit', id: 'suspend', action: 'SUSPEND' } as const;
    script.failing().world.take(script.find('n').id, [suspend]);
    script.ends().behaving();
    script.update({ n: desiredResource({ type: 'Nested', value: 2 }) }).ends('UPDATE_FAILED');
    const { reason } = script.world.stack('s');
    must(reason.includes('Updating a stack when it is suspended is not supported.'), reason);
  },
};
