/** Scenarios of waits at hooks. */
import { must } from '../checks/ledger.ts';
import { desiredResource } from '../driver.ts';
import type { Scenarios } from '../script.ts';

/** The scenarios by the situation that they set up. */
export const hookScenarios: Scenarios = {
  'a hook holds its resource and nothing else, and the stack goes on from it': (script) => {
    script.create({ a: desiredResource({ hooks: ['pre-create'] }), b: desiredResource() });
    script.until(() => script.find('b').status === 'COMPLETE' && !script.find('b').request);
    const { action, status, hook } = script.find('a');
    must(action === 'INIT' && status === 'COMPLETE' && hook?.name === 'pre-create', 'a does not wait');
    script
      .say({ kind: 'signal', id: 'go', resource: 'a', signal: { unset_hook: 'pre-create' } })
      .ends('CREATE_COMPLETE');
  },
  'a hook before updates waits for an update, and not for what was just made': (script) => {
    script.create({ a: desiredResource({ hooks: ['pre-update'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: desiredResource({ hooks: ['pre-update'], value: 2 }) });
    const { hook, properties } = script.find('a');
    must(hook?.name === 'pre-update' && properties['value'] === 1, 'a does not wait');
    script
      .say({ kind: 'signal', id: 'go', resource: 'a', signal: { unset_hook: 'pre-update' } })
      .ends('UPDATE_COMPLETE');
    must(script.find('a').properties['value'] === 2, 'a was not updated');
  },
  'a lifecycle hook is kept alive by heartbeats, and takes its default when they stop': (script) => {
    const lifecycle = [
      { transition: 'launching' as const, heartbeat_timeout: 10, default_result: 'continue' as const },
    ];
    script.create({ a: desiredResource({ lifecycle }), b: desiredResource({ requires: ['a'] }) });
    script.until(() => script.find('a').hook !== null);
    const { hook } = script.find('a');
    const until = Date.parse(hook?.deadline ?? '');
    script.world.clock.now = until - 1000;
    const beat = { kind: 'heartbeat', hook: 'launching', token: hook?.token ?? '' } as const;
    script.say({ kind: 'resource', id: 'beat', resource: 'a', action: beat });
    script.until(() => script.world.clock.now > until);
    must(script.find('a').hook !== null, 'the heartbeat did not count');
    script.ends('CREATE_COMPLETE');
  },
  'what is launched waits for that first, and then at the hook after it was made': (script) => {
    const lifecycle = [
      { transition: 'launching' as const, heartbeat_timeout: 10, default_result: 'continue' as const },
    ];
    script.create({ a: desiredResource({ hooks: ['post-create'], lifecycle }) });
    script.until(() => script.find('a').hook !== null);
    must(script.find('a').hook?.name === 'launching', 'it does not wait for its launch');
    script.until(() => script.find('a').hook?.name === 'post-create');
    script
      .say({ kind: 'signal', id: 'go', resource: 'a', signal: { unset_hook: 'post-create' } })
      .ends('CREATE_COMPLETE');
  },
  'a visit waits for the launch of what it visits': (script) => {
    const lifecycle = [
      { transition: 'launching' as const, heartbeat_timeout: 10, default_result: 'continue' as const },
    ];
    script.create({ a: desiredResource({ lifecycle }) }).until(() => script.find('a').hook !== null);
    script.say({ kind: 'cancel', id: 'cancel' }).say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' });
    must(script.find('a').request === null, 'it is suspended before it is launched');
    script.ends('SUSPEND_COMPLETE');
  },
  'a member of a warm pool waits at its hook when it enters, and only then; it leaves the pool without one': (
    script,
  ) => {
    const lifecycle = (['launching', 'terminating'] as const).map((transition) => ({
      transition,
      heartbeat_timeout: 10,
      default_result: 'continue' as const,
    }));
    const wishes = { a: desiredResource({ lifecycle }), b: desiredResource({ lifecycle }) };
    script.create({}).ends('CREATE_COMPLETE');
    script.update(wishes, { group: { warm: ['a', 'b'] } }).until(() => script.find('b').action === 'CREATE');
    // The pool holds its members also in an update that overtakes the one that creates them.
    script.update(wishes, { group: { warm: ['a', 'b'] } }).ends('UPDATE_COMPLETE');
    must(
      script.resources.every(({ entered_at: entered, passed }) => entered === null && !passed),
      'a member entered',
    );
    script.update(wishes, { group: { warm: ['b'] } }).until(() => script.find('a').hook !== null);
    must(script.find('a').entered_at !== null && script.find('b').hook === null, 'not only a enters');
    script.ends('UPDATE_COMPLETE');
    must(script.find('a').passed?.hooks.includes('launching') === true, 'a did not pass its hook');
    script.update({ a: desiredResource({ lifecycle }) }, { group: { warm: [] } });
    must(
      script.resources.every(({ hook }) => hook === null),
      'b waits before it is deleted',
    );
    script.ends('UPDATE_COMPLETE');
    must(script.resources.length === 1, 'b stays');
  },
};
