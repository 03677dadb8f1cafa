/** Scripted scenarios: situations that random runs meet by chance, with the exact requests that must follow. */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { EngineTimer } from '@anneal/contracts/stack-timer.ts';
import type { Input } from '../../protocol.ts';
import type { Target } from '../../documents.ts';
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import { newSimulatedStack, simulatedPlan, simulatedTarget, type DesiredResources } from '../model.ts';
import { chain, pending, Script, type Scenarios } from '../script.ts';
import type { Core } from '../shell.ts';
import { hookScenarios } from './hooks.ts';
import { nestedScenarios } from './nested.ts';
import { orderScenarios } from './orders.ts';
import { overtakingScenarios } from './overtaking.ts';
import { visitScenarios } from './visits.ts';

/** All scenarios by the situation that they set up. */
export const scenarios: Scenarios = {
  'an update interrupts a create, and goes on from what it finds': (script) => {
    script.create(chain).until(pending(script, 'b', 'create'));
    script.update({ ...chain, a: desiredResource({ value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'a resource is removed while it is being added': (script) => {
    script.create({ a: desiredResource() }).ends('CREATE_COMPLETE');
    script.update({ a: desiredResource(), b: desiredResource() }).until(pending(script, 'b', 'create'));
    script.update({ a: desiredResource() }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 1, 'what was removed is still there');
  },
  'dependencies turn round during a replacement': (script) => {
    script.create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script
      .update({ a: desiredResource({ kind: 2 }), b: desiredResource({ requires: ['a'] }) })
      .until(pending(script, 'a', 'create'));
    script.update({ a: desiredResource({ kind: 2, requires: ['b'] }), b: desiredResource() }).ends('UPDATE_COMPLETE');
  },
  'what is being replaced is replaced again': (script) => {
    script.create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script
      .update({ a: desiredResource({ kind: 2 }), b: desiredResource({ requires: ['a'] }) })
      .until(pending(script, 'a', 'create'));
    script.update({ a: desiredResource({ kind: 3 }), b: desiredResource({ requires: ['a'] }) }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 2, 'an original is left');
  },
  'an original is taken back when the replacement is no longer wanted': (script) => {
    script.create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    const original = script.find('a').id;
    script
      .update({ a: desiredResource({ kind: 2 }), b: desiredResource({ requires: ['a'] }) })
      .until(pending(script, 'b', 'update'));
    script.say({ kind: 'rollback', id: 'back', cancel: true }).ends('ROLLBACK_COMPLETE');
    must(script.find('a').id === original, 'the original was not taken back');
  },
  'a rollback is rolled back': (script) => {
    script.create(chain).ends('CREATE_COMPLETE');
    script
      .failing()
      .update({ ...chain, a: desiredResource({ value: 2 }) })
      .ends('UPDATE_FAILED');
    script.say({ kind: 'rollback', id: script.id('back'), cancel: false }).ends('ROLLBACK_FAILED');
    script
      .behaving()
      .say({ kind: 'rollback', id: script.id('back'), cancel: false })
      .ends('ROLLBACK_COMPLETE');
    script.update({ ...chain, a: desiredResource({ value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'a failed create goes back to nothing by itself': (script) => {
    script
      .failing()
      .create(chain, 'rollback')
      .until(() => script.world.stack('s').action === 'ROLLBACK');
    script.behaving().ends('ROLLBACK_COMPLETE');
    must(script.resources.length === 0, 'something is left');
    script.update(chain).ends('UPDATE_COMPLETE');
  },
  'a failed update goes back to what was complete, also from what was never complete': (script) => {
    script.create(chain, 'rollback').ends('CREATE_COMPLETE');
    script.update({ ...chain, a: desiredResource({ value: 2 }) });
    script
      .failing()
      .update({ ...chain, a: desiredResource({ value: 3 }) })
      .until(() => script.world.stack('s').action === 'ROLLBACK');
    script.behaving().ends('ROLLBACK_COMPLETE');
    must(script.find('a').properties['value'] === 1, 'it went back to an attempt');
  },
  'a failure is waited over, and tried again': (script) => {
    script
      .failing()
      .create(chain, 'pause')
      .until(() => script.world.stack('s').phase === 'paused');
    must(script.world.stack('s').deadline === null, 'its deadline still runs');
    script.behaving().say({ kind: 'retry', id: 'again' }).ends('CREATE_COMPLETE');
  },
  'a failure is waited over, and skipped': (script) => {
    script.create({ a: desiredResource() }, 'pause').ends('CREATE_COMPLETE');
    script.failing().update({ a: desiredResource({ value: 2 }), b: desiredResource({ requires: ['a'] }) });
    script.until(() => script.world.stack('s').phase === 'paused').behaving();
    script.say({ kind: 'resource', id: 'skip', resource: 'a', action: { kind: 'skip' } }).ends('UPDATE_COMPLETE');
    must(script.find('a').skipped !== null && script.find('b').status === 'COMPLETE', 'b did not follow');
    script
      .update({ a: desiredResource({ value: 3 }), b: desiredResource({ requires: ['a'] }) })
      .ends('UPDATE_COMPLETE');
    must(script.find('a').skipped === null, 'a is still skipped');
  },
  'what becomes retained stays, though the update is refused and goes back in the same step': (script) => {
    script.create({ z: desiredResource() }, 'rollback').ends('CREATE_COMPLETE');
    script.update({
      a: desiredResource(),
      w: desiredResource(),
      x: desiredResource({ requires: ['w'] }),
      y: desiredResource({ requires: ['x'] }),
      z: desiredResource(),
    });
    script.until(() => script.find('a').status === 'COMPLETE');
    must(script.world.stack('s').phase === 'converging', 'the update ended too early');
    const { id } = script.find('a');
    script.update({
      a: desiredResource({ retain: true }),
      z: desiredResource({ requires: ['a'], value: 2, restricted: ['update'] }),
    });
    script.ends('ROLLBACK_COMPLETE');
    must(script.resources.length === 1 && script.world.books.physical.has(id), 'what was to be retained is gone');
  },
  'what is to be deleted first is, whatever becomes of its replacement': (script) => {
    const at = (made: number): DesiredResources => ({
      a: desiredResource({ kind: made, deleteFirst: true }),
      b: desiredResource({ requires: ['a'] }),
    });
    script.create(at(1), 'rollback').ends('CREATE_COMPLETE');
    const { id } = script.find('a');
    script.update(at(2)).until(pending(script, 'a', 'create'));
    must(!script.world.books.physical.has(id), 'the original is still there');
    must(script.find('b').action === 'CREATE' && script.resources.length === 2, 'b did not wait');
    script.failing().until(() => script.world.stack('s').action === 'ROLLBACK');
    script.behaving().ends('ROLLBACK_COMPLETE');
    must(script.find('a').properties['kind'] === 1 && script.find('a').id !== id, 'the old one was not made again');
    script.update(at(3)).ends('UPDATE_COMPLETE');
    must(script.resources.length === 2, 'something is left');
  },
  'deletion ends in every state': (script) => {
    script.create(chain).remove().ends('DELETE_COMPLETE');
    const states: ((other: Script) => void)[] = [
      (other) => other.create(chain).ends('CREATE_COMPLETE'),
      (other) => other.failing().create(chain).ends('CREATE_FAILED'),
      (other) => other.create(chain).update({ ...chain, a: desiredResource({ kind: 5 }) }),
      (other) => other.create(chain).ends().say({ kind: 'rollback', id: 'back', cancel: false }),
      (other) =>
        other
          .failing()
          .create(chain, 'pause')
          .until(() => other.world.stack('s').phase === 'paused'),
      (other) => other.create(chain).ends().say({ kind: 'visit', id: 'visit', action: 'SUSPEND' }),
      (other) => other.create(chain).ends().say({ kind: 'visit', id: 'visit', action: 'CHECK' }).ends('CHECK_COMPLETE'),
      (other) => other.create(chain).say({ kind: 'cancel', id: 'cancel' }),
      (other) => other.create(chain).ends().failing().remove().ends('DELETE_FAILED'),
    ];
    for (const bring of states) {
      const other = new Script(script.world.cores);
      bring(other);
      other.behaving().remove().ends('DELETE_COMPLETE');
    }
  },
  'a deletion takes over what never answers': (script) => {
    script.world.providers.silent = true;
    script.create(chain).until(pending(script, 'a', 'create'));
    script.remove().ends('DELETE_COMPLETE');
    must(script.world.clock.now < 20_000, 'it waited longer than its grace');
  },
  'of two updates at once the later one wins': (script) => {
    script.create(chain).ends('CREATE_COMPLETE');
    const plans = [2, 3].map((value) => simulatedPlan({ ...chain, a: desiredResource({ value }) }));
    script.say(
      ...plans.map((plan, index): Input => ({
        kind: 'update',
        id: `u${index}`,
        plan,
        target: simulatedTarget(script.world.addPlan(plan)),
      })),
    );
    script.ends('UPDATE_COMPLETE');
    must(script.find('a').properties['value'] === 3, 'the earlier update won');
  },
  'a cancelled create stays as it stands, and can be taken up': (script) => {
    script.create(chain).until(pending(script, 'b', 'create'));
    script.say({ kind: 'cancel', id: 'cancel' });
    must(script.world.stack('s').status === 'FAILED', 'it is not failed at once');
    must(script.world.stack('s').reason === 'Stack CREATE cancelled', script.world.stack('s').reason);
    script.ends('CREATE_FAILED');
    must(script.find('b').status === 'COMPLETE', 'what ran did not keep its result');
    script.say({ kind: 'retry', id: 'again' }).ends('CREATE_COMPLETE');
  },
  'the running action repeats the work at which an overtaken action failed': (script) => {
    script
      .create({ a: desiredResource({ type: 'Plain' }), b: desiredResource({ snapshot: true }) })
      .ends('CREATE_COMPLETE');
    script.failing().update({ a: desiredResource({ type: 'Plain' }) });
    script.until(pending(script, 'b', 'snapshot')).say({ kind: 'cancel', id: 'cancel' });
    const snapshot = { id: 'snapshot', name: 'snapshot' };
    script.say({ kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot });
    script.until(() => script.find('b').fence === 3 || script.find('b').request === null).behaving();
    script.ends('SNAPSHOT_COMPLETE');
    must(script.find('b').status === 'COMPLETE', 'b was not saved, and the snapshot says that it was');
  },
  'the last pause of a group ends with its last member, also after a takeover': (script) => {
    const group = (value: number): Plan =>
      simulatedPlan(
        { m0: desiredResource({ value }), m1: desiredResource(), spare: desiredResource() },
        { members: ['m0', 'm1'], batch_size: 1, min_in_service: 1, pause_seconds: 60, temporary: ['spare'] },
      );
    const target = (plan: Plan): Target => simulatedTarget(script.world.addPlan(plan));
    script.world.open(newSimulatedStack('s', { target: target(group(1)) }));
    script.say({ kind: 'create', id: 'create', plan: group(1) }).ends('CREATE_COMPLETE');
    script.say({ kind: 'update', id: 'update', plan: group(2), target: target(group(2)) });
    script.until(pending(script, 'm0', 'update'));
    script.world.shellOf('s').forget();
    const { now } = script.world.clock;
    script.ends('UPDATE_COMPLETE');
    must(script.world.clock.now < now + 60_000, 'it paused, with nothing to come');
  },
  'what is taken as it is goes before what it uses, and keeps nothing from going': (script) => {
    const lifecycle = [{ transition: 'launching' as const, heartbeat_timeout: 1, default_result: 'abandon' as const }];
    const alone = desiredResource({ restricted: ['replace'] });
    for (const others of [{ a: desiredResource() }, {}]) {
      const other = new Script(script.world.cores);
      other.create({ a: desiredResource(), b: desiredResource({ requires: ['a'], lifecycle }) }).ends('CREATE_FAILED');
      other.update({ ...others, b: alone }).ends('UPDATE_FAILED');
      other.say({ kind: 'resource', id: 'skip', resource: 'b', action: { kind: 'skip' } }).ends('UPDATE_COMPLETE');
      other.remove().ends('DELETE_COMPLETE');
    }
  },
  'what may not be replaced is left as it is': (script) => {
    script.create({ a: desiredResource({ restricted: ['replace'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: desiredResource({ restricted: ['replace'], kind: 2 }) }).ends('UPDATE_FAILED');
    const { reason } = script.world.stack('s');
    must(/ResourceActionRestricted: resources\.a: replace is restricted for resource\./.test(reason), reason);
    must(script.find('a').status === 'COMPLETE', 'a is not whole any more');
    script.update({ a: desiredResource({ restricted: ['replace'], value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'every late word and timer is taken in every phase': (script) => {
    const bring: Readonly<Record<string, (other: Script) => void>> = {
      idle: (other) => other.create(chain).ends('CREATE_COMPLETE'),
      converging: (other) => other.create(chain),
      draining: (other) => {
        other.failing().create({ a: desiredResource(), b: desiredResource(), c: desiredResource() });
        other.until(() => other.world.stack('s').phase === 'draining');
      },
      paused: (other) =>
        other
          .failing()
          .create(chain, 'pause')
          .until(() => other.world.stack('s').phase === 'paused'),
    };
    for (const [phase, reach] of Object.entries(bring)) {
      for (const input of lateInputs) {
        const other = new Script(script.world.cores);
        reach(other);
        must(other.world.stack('s').phase === phase, `it is not ${phase}`);
        other.say(input);
        for (const [pair, count] of other.world.pairs) script.world.pairs.set(pair, count);
        other.behaving().ends();
      }
    }
  },
  ...nestedScenarios,
  ...orderScenarios,
  ...overtakingScenarios,
  ...hookScenarios,
  ...visitScenarios,
};

const word = (action: Extract<Input, { kind: 'resource' }>['action']): Input => ({
  kind: 'resource',
  id: action.kind,
  resource: 'a',
  action,
});
const late = (timer: EngineTimer): Input => ({ kind: 'timer', id: timer.kind, timer, traversal: 'an older one' });
const lateInputs: readonly Input[] = [
  { kind: 'create', id: 'create', plan: simulatedPlan(chain) },
  { kind: 'delete', id: 'abandon', abandon: true },
  { kind: 'signal', id: 'signal', resource: 'a', signal: {} },
  { kind: 'cancel', id: 'cancel' },
  { kind: 'retry', id: 'retry' },
  { kind: 'rollback', id: 'rollback', cancel: false },
  { kind: 'rollback', id: 'rollback', cancel: true },
  ...(['CHECK', 'SUSPEND', 'RESUME'] as const).map((action): Input => ({ kind: 'visit', id: action, action })),
  { kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot: { id: 'snapshot', name: 'snapshot' } },
  word({ kind: 'mark', unhealthy: true, reason: 'bad' }),
  word({ kind: 'skip' }),
  word({ kind: 'clear hook', hook: 'pre-create' }),
  word({ kind: 'heartbeat', hook: 'launching', token: 'old' }),
  word({ kind: 'complete hook', hook: 'launching', token: 'old', result: 'abandon' }),
  ...(['deadline', 'grace', 'batch'] as const).map((kind) => late({ kind })),
  late({ kind: 'retry', resource: 'none', fence: 1 }),
  late({ kind: 'hook', resource: 'none', token: 'old' }),
];

/** Runs all scenarios, one after the other. Returns the exercised pairs. @throws Error that names the scenario. */
export function runScenarios(cores: readonly Core[]): Map<string, number> {
  const pairs = new Map<string, number>();
  for (const [name, run] of Object.entries(scenarios)) {
    const script = new Script(cores);
    try {
      run(script);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
    for (const [pair, count] of script.world.pairs) pairs.set(pair, (pairs.get(pair) ?? 0) + count);
  }
  return pairs;
}
