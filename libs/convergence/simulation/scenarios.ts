/** Scripted scenarios: what the random runs meet by chance, met on purpose, with what must be asked of whom. */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Input } from '../protocol.ts';
import type { ResourceDocument, Target } from '../documents.ts';
import { must } from './books.ts';
import { newStack, planOf, targetOf, type Wish, type Wishes } from './model.ts';
import type { Core } from './shell.ts';
import { kind } from './providers.ts';
import { World } from './world.ts';

const wish = (more: Partial<Wish> = {}): Wish => ({ requires: [], value: 1, kind: 1, ...more });

/** One stack, and what a person does to it. */
export class Script {
  readonly world: World;
  private count = 0;

  constructor(cores: readonly Core[], seed = 7) {
    this.world = new World(seed, cores);
    this.world.temper = { ...kind };
  }

  get status(): string {
    const { action, status } = this.world.stack('s');
    return `${action}_${status}`;
  }

  get resources(): ResourceDocument[] {
    return [...this.world.shellOf('s').stored.resources.values()];
  }

  id(what: string): string {
    return `${what} ${(this.count += 1)}`;
  }

  find(name: string): ResourceDocument {
    const found = this.resources.find((resource) => resource.name === name);
    must(found !== undefined, `no resource ${name}`);
    return found;
  }

  create(wishes: Wishes, onFailure: 'keep' | 'rollback' | 'pause' = 'keep'): this {
    const plan = planOf(wishes);
    this.world.open(newStack('s', { target: targetOf(this.world.addPlan(plan)), on_failure: onFailure }));
    return this.say({ kind: 'create', id: 'create', plan });
  }

  update(wishes: Wishes, more: Partial<Extract<Input, { kind: 'update' }>> = {}): this {
    const plan = planOf(wishes);
    return this.say({
      kind: 'update',
      id: this.id('update'),
      plan,
      target: targetOf(this.world.addPlan(plan)),
      ...more,
    });
  }

  remove(): this {
    return this.say({ kind: 'delete', id: this.id('delete') });
  }

  say(...inputs: Input[]): this {
    this.world.take('s', inputs);
    return this;
  }

  /** Runs on until there is nothing left to do; with a word for how it has to end. */
  ends(status?: string): this {
    this.world.run(() => this.world.stack('s').phase === 'idle' && this.quiet());
    if (status !== undefined) must(this.status === status, `it ended ${this.status}, and not ${status}`);
    return this;
  }

  until(condition: () => boolean): this {
    this.world.run(condition);
    return this;
  }

  /** Every request from now on fails. */
  failing(): this {
    this.world.providers.failing = true;
    return this;
  }

  mended(): this {
    this.world.providers.failing = false;
    return this;
  }

  private quiet(): boolean {
    return [...this.world.shells.values()].every(({ stored }) => stored.stack.phase === 'idle');
  }
}

const pending = (script: Script, name: string, action: string) => (): boolean =>
  script.resources.some((resource) => resource.name === name && resource.request?.action === action);

const chain: Wishes = { a: wish(), b: wish({ requires: ['a'] }), c: wish({ requires: ['b'] }) };

export const scenarios: Readonly<Record<string, (script: Script) => void>> = {
  'an update interrupts a create, and goes on from what it finds': (script) => {
    script.create(chain).until(pending(script, 'b', 'create'));
    script.update({ ...chain, a: wish({ value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'a resource is removed while it is being added': (script) => {
    script.create({ a: wish() }).ends('CREATE_COMPLETE');
    script.update({ a: wish(), b: wish() }).until(pending(script, 'b', 'create'));
    script.update({ a: wish() }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 1, 'what was removed is still there');
  },
  'dependencies turn round during a replacement': (script) => {
    script.create({ a: wish(), b: wish({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: wish({ kind: 2 }), b: wish({ requires: ['a'] }) }).until(pending(script, 'a', 'create'));
    script.update({ a: wish({ kind: 2, requires: ['b'] }), b: wish() }).ends('UPDATE_COMPLETE');
  },
  'what is being replaced is replaced again': (script) => {
    script.create({ a: wish(), b: wish({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: wish({ kind: 2 }), b: wish({ requires: ['a'] }) }).until(pending(script, 'a', 'create'));
    script.update({ a: wish({ kind: 3 }), b: wish({ requires: ['a'] }) }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 2, 'an original is left');
  },
  'an original is taken back when the replacement is no longer wanted': (script) => {
    script.create({ a: wish(), b: wish({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    const original = script.find('a').id;
    script.update({ a: wish({ kind: 2 }), b: wish({ requires: ['a'] }) }).until(pending(script, 'b', 'update'));
    script.say({ kind: 'rollback', id: 'back', cancel: true }).ends('ROLLBACK_COMPLETE');
    must(script.find('a').id === original, 'the original was not taken back');
  },
  'a rollback is rolled back': (script) => {
    script.create(chain).ends('CREATE_COMPLETE');
    script
      .failing()
      .update({ ...chain, a: wish({ value: 2 }) })
      .ends('UPDATE_FAILED');
    script.say({ kind: 'rollback', id: script.id('back'), cancel: false }).ends('ROLLBACK_FAILED');
    script
      .mended()
      .say({ kind: 'rollback', id: script.id('back'), cancel: false })
      .ends('ROLLBACK_COMPLETE');
    script.update({ ...chain, a: wish({ value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'a failed create goes back to nothing by itself': (script) => {
    script
      .failing()
      .create(chain, 'rollback')
      .until(() => script.world.stack('s').action === 'ROLLBACK');
    script.mended().ends('ROLLBACK_COMPLETE');
    must(script.resources.length === 0, 'something is left');
    script.update(chain).ends('UPDATE_COMPLETE');
  },
  'a failed update goes back to what was complete, also from what was never complete': (script) => {
    script.create(chain, 'rollback').ends('CREATE_COMPLETE');
    script.update({ ...chain, a: wish({ value: 2 }) });
    script
      .failing()
      .update({ ...chain, a: wish({ value: 3 }) })
      .until(() => script.world.stack('s').action === 'ROLLBACK');
    script.mended().ends('ROLLBACK_COMPLETE');
    must(script.find('a').properties['value'] === 1, 'it went back to an attempt');
  },
  'a failure is waited over, and tried again': (script) => {
    script
      .failing()
      .create(chain, 'pause')
      .until(() => script.world.stack('s').phase === 'paused');
    must(script.world.stack('s').deadline === null, 'its deadline still runs');
    script.mended().say({ kind: 'retry', id: 'again' }).ends('CREATE_COMPLETE');
  },
  'a failure is waited over, and skipped': (script) => {
    script.create({ a: wish() }, 'pause').ends('CREATE_COMPLETE');
    script.failing().update({ a: wish({ value: 2 }), b: wish({ requires: ['a'] }) });
    script.until(() => script.world.stack('s').phase === 'paused').mended();
    script.say({ kind: 'resource', id: 'skip', resource: 'a', action: { kind: 'skip' } }).ends('UPDATE_COMPLETE');
    must(script.find('a').skipped !== null && script.find('b').status === 'COMPLETE', 'b did not follow');
    script.update({ a: wish({ value: 3 }), b: wish({ requires: ['a'] }) }).ends('UPDATE_COMPLETE');
    must(script.find('a').skipped === null, 'a is still skipped');
  },
  'what becomes retained stays, though the update is refused and goes back in the same step': (script) => {
    script.create({ z: wish() }, 'rollback').ends('CREATE_COMPLETE');
    script.update({ a: wish(), w: wish(), x: wish({ requires: ['w'] }), y: wish({ requires: ['x'] }), z: wish() });
    script.until(() => script.find('a').status === 'COMPLETE');
    must(script.world.stack('s').phase === 'converging', 'the update ended too early');
    const { id } = script.find('a');
    script.update({ a: wish({ retain: true }), z: wish({ requires: ['a'], value: 2, restricted: ['update'] }) });
    script.ends('ROLLBACK_COMPLETE');
    must(script.resources.length === 1 && script.world.books.physical.has(id), 'what was to be retained is gone');
  },
  'what is to be deleted first is, whatever becomes of its replacement': (script) => {
    const at = (made: number): Wishes => ({ a: wish({ kind: made, deleteFirst: true }), b: wish({ requires: ['a'] }) });
    script.create(at(1), 'rollback').ends('CREATE_COMPLETE');
    const { id } = script.find('a');
    script.update(at(2)).until(pending(script, 'a', 'create'));
    must(!script.world.books.physical.has(id), 'the original is still there');
    must(script.find('b').action === 'CREATE' && script.resources.length === 2, 'b did not wait');
    script.failing().until(() => script.world.stack('s').action === 'ROLLBACK');
    script.mended().ends('ROLLBACK_COMPLETE');
    must(script.find('a').properties['kind'] === 1 && script.find('a').id !== id, 'the old one was not made again');
    script.update(at(3)).ends('UPDATE_COMPLETE');
    must(script.resources.length === 2, 'something is left');
  },
  'deletion ends in every state': (script) => {
    script.create(chain).remove().ends('DELETE_COMPLETE');
    const states: ((other: Script) => void)[] = [
      (other) => other.create(chain).ends('CREATE_COMPLETE'),
      (other) => other.failing().create(chain).ends('CREATE_FAILED'),
      (other) => other.create(chain).update({ ...chain, a: wish({ kind: 5 }) }),
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
      other.mended().remove().ends('DELETE_COMPLETE');
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
    const plans = [2, 3].map((value) => planOf({ ...chain, a: wish({ value }) }));
    script.say(
      ...plans.map((plan, index): Input => ({
        kind: 'update',
        id: `u${index}`,
        plan,
        target: targetOf(script.world.addPlan(plan)),
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
  'a nested stack is created, updated, overtaken, rolled back and deleted with the one around it': (script) => {
    const nested = (value: number): Wishes => ({
      n: wish({ type: 'Nested', value, kind: 1 }),
      b: wish({ requires: ['n'] }),
    });
    script.create(nested(3)).ends('CREATE_COMPLETE');
    const child = script.find('n').id;
    script.update(nested(8)).until(() => script.world.stack(child).action === 'UPDATE');
    script.update(nested(14)).ends('UPDATE_COMPLETE');
    must(script.world.stack(child).status === 'COMPLETE', 'the nested stack is not complete');
    script.failing().update(nested(20)).ends('UPDATE_FAILED');
    must(/resources\.n\.resources\./.test(script.world.stack('s').reason), script.world.stack('s').reason);
    script.mended().say({ kind: 'rollback', id: 'back', cancel: false }).ends('ROLLBACK_COMPLETE');
    script.say({ kind: 'visit', id: 'check', action: 'CHECK' }).ends('CHECK_COMPLETE');
    script.remove().ends('DELETE_COMPLETE');
    must(script.world.stack(child).deleted_at !== null, 'the nested stack outlived it');
  },
  'a nested stack follows the newest request, and answers one that comes again': (script) => {
    script.create({ n: wish({ type: 'Nested', value: 3 }) }).ends('CREATE_COMPLETE');
    const { id } = script.find('n');
    const { parent, target } = script.world.stack(id);
    script.update({ n: wish({ type: 'Nested', value: 9 }) }).ends('UPDATE_COMPLETE');
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
    script.create({ n: wish({ type: 'Nested', value: 3 }) });
    const child = script.find('n').id;
    script.until(() => script.world.shells.has(child) && script.world.stack(child).phase === 'converging');
    script.say({ kind: 'cancel', id: 'cancel' }).ends('CREATE_FAILED');
    must(script.world.stack(child).reason === 'Stack CREATE cancelled', script.world.stack(child).reason);
    script.say({ kind: 'retry', id: 'again' }).ends('CREATE_COMPLETE');
  },
  'a check names all that failed, and the next update makes it anew': (script) => {
    script.create({ a: wish(), b: wish({ requires: ['a'] }), c: wish({ type: 'Plain' }) }).ends('CREATE_COMPLETE');
    script.failing().say({ kind: 'visit', id: 'check', action: 'CHECK' }).ends('CHECK_FAILED');
    must(script.world.stack('s').failures.length === 2, 'not all that failed are named');
    must(script.find('c').reason === 'CHECK not supported for Plain', script.find('c').reason);
    const before = script.find('a').id;
    script
      .mended()
      .update({ a: wish(), b: wish({ requires: ['a'] }), c: wish({ type: 'Plain' }) })
      .ends('UPDATE_COMPLETE');
    must(script.find('a').id !== before, 'what was unhealthy was kept');
  },
  'suspension goes before what it stands on, and back': (script) => {
    script.create(chain).ends('CREATE_COMPLETE').say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' });
    must(script.find('c').action === 'SUSPEND' && script.find('a').action === 'CREATE', 'a was suspended before c');
    script.ends('SUSPEND_COMPLETE').say({ kind: 'visit', id: 'resume', action: 'RESUME' });
    must(script.find('a').action === 'RESUME' && script.find('c').action === 'SUSPEND', 'c was resumed before a');
    script
      .ends('RESUME_COMPLETE')
      .update({ ...chain, a: wish({ value: 4 }) })
      .ends('UPDATE_COMPLETE');
  },
  'a snapshot of what is suspended leaves it suspended, also when it fails': (script) => {
    const snapshot = (id: string): Input => ({ kind: 'visit', id, action: 'SNAPSHOT', snapshot: { id, name: id } });
    script.create({ ...chain, d: wish({ type: 'Nested', requires: ['c'] }) }).ends('CREATE_COMPLETE');
    script.say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' }).ends('SUSPEND_COMPLETE');
    script.failing().say(snapshot('one')).ends('SNAPSHOT_FAILED');
    script.mended().say(snapshot('two')).ends('SNAPSHOT_COMPLETE');
    must(
      script.resources.every(({ action, status }) => `${action}_${status}` === 'SUSPEND_COMPLETE'),
      'one is awake',
    );
    script.update(chain).ends('SNAPSHOT_COMPLETE');
    script.say({ kind: 'visit', id: 'resume', action: 'RESUME' }).ends('RESUME_COMPLETE');
    script.update(chain).ends('UPDATE_COMPLETE');
  },
  'what an action that was overtaken failed at is done anew by the one that runs': (script) => {
    script.create({ a: wish({ type: 'Plain' }), b: wish({ snapshot: true }) }).ends('CREATE_COMPLETE');
    script.failing().update({ a: wish({ type: 'Plain' }) });
    script.until(pending(script, 'b', 'snapshot')).say({ kind: 'cancel', id: 'cancel' });
    const snapshot = { id: 'snapshot', name: 'snapshot' };
    script.say({ kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot });
    script.until(() => script.find('b').fence === 3 || script.find('b').request === null).mended();
    script.ends('SNAPSHOT_COMPLETE');
    must(script.find('b').status === 'COMPLETE', 'b was not saved, and the snapshot says that it was');
  },
  'what was never asked for is skipped, and nobody is asked to suspend it': (script) => {
    script.create({ a: wish({ broken: true }), b: wish() }).ends('CREATE_FAILED');
    script.say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' }).ends('SUSPEND_FAILED');
    script.say({ kind: 'resource', id: 'skip', resource: 'a', action: { kind: 'skip' } }).ends('SUSPEND_COMPLETE');
    script.say({ kind: 'visit', id: 'resume', action: 'RESUME' }).ends('RESUME_COMPLETE');
    must(script.find('a').fence === 0, 'a provider was asked about what it never made');
  },
  'what is gone is deleted without the snapshot that was to be made of it': (script) => {
    script.create({ a: wish({ snapshot: true }), b: wish() }).ends('CREATE_COMPLETE');
    script.world.books.physical.delete(script.find('a').id);
    script.update({ b: wish() }).ends('UPDATE_COMPLETE');
    must(script.resources.length === 1, 'what is gone is still known');
  },
  'what a snapshot found to be gone is made anew by the next update': (script) => {
    script.create({ a: wish() }).ends('CREATE_COMPLETE');
    const before = script.find('a').id;
    script.world.books.physical.delete(before);
    const snapshot = { id: 'snapshot', name: 'snapshot' };
    script.say({ kind: 'visit', id: 'snapshot', action: 'SNAPSHOT', snapshot }).ends('SNAPSHOT_FAILED');
    script.update({ a: wish() }).ends('UPDATE_COMPLETE');
    must(script.find('a').id !== before, 'what is gone is taken for whole');
  },
  'a hook holds its resource and nothing else, and the stack goes on from it': (script) => {
    script.create({ a: wish({ hooks: ['pre-create'] }), b: wish() });
    script.until(() => script.find('b').status === 'COMPLETE' && !script.find('b').request);
    const { action, status, hook } = script.find('a');
    must(action === 'INIT' && status === 'COMPLETE' && hook?.name === 'pre-create', 'a does not wait');
    script
      .say({ kind: 'signal', id: 'go', resource: 'a', signal: { unset_hook: 'pre-create' } })
      .ends('CREATE_COMPLETE');
  },
  'a hook before updates waits for an update, and not for what was just made': (script) => {
    script.create({ a: wish({ hooks: ['pre-update'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: wish({ hooks: ['pre-update'], value: 2 }) });
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
    script.create({ a: wish({ lifecycle }), b: wish({ requires: ['a'] }) });
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
    script.create({ a: wish({ hooks: ['post-create'], lifecycle }) });
    script.until(() => script.find('a').hook !== null);
    must(script.find('a').hook?.name === 'launching', 'it does not wait for its launch');
    script.until(() => script.find('a').hook?.name === 'post-create');
    script
      .say({ kind: 'signal', id: 'go', resource: 'a', signal: { unset_hook: 'post-create' } })
      .ends('CREATE_COMPLETE');
  },
  'the last pause of a group ends with its last member, whoever takes it over': (script) => {
    const group = (value: number): Plan =>
      planOf(
        { m0: wish({ value }), m1: wish(), spare: wish() },
        { members: ['m0', 'm1'], batch_size: 1, min_in_service: 1, pause_seconds: 60, temporary: ['spare'] },
      );
    const target = (plan: Plan): Target => targetOf(script.world.addPlan(plan));
    script.world.open(newStack('s', { target: target(group(1)) }));
    script.say({ kind: 'create', id: 'create', plan: group(1) }).ends('CREATE_COMPLETE');
    script.say({ kind: 'update', id: 'update', plan: group(2), target: target(group(2)) });
    script.until(pending(script, 'm0', 'update'));
    script.world.shellOf('s').forget();
    const { now } = script.world.clock;
    script.ends('UPDATE_COMPLETE');
    must(script.world.clock.now < now + 60_000, 'it paused, with nothing to come');
  },
  'a visit waits for the launch of what it visits': (script) => {
    const lifecycle = [
      { transition: 'launching' as const, heartbeat_timeout: 10, default_result: 'continue' as const },
    ];
    script.create({ a: wish({ lifecycle }) }).until(() => script.find('a').hook !== null);
    script.say({ kind: 'cancel', id: 'cancel' }).say({ kind: 'visit', id: 'suspend', action: 'SUSPEND' });
    must(script.find('a').request === null, 'it is suspended before it is launched');
    script.ends('SUSPEND_COMPLETE');
  },
  'a nested stack is told what changed meanwhile once it has answered, also by who takes over': (script) => {
    script.create({ a: wish(), n: wish({ type: 'Nested', requires: ['a'] }) }).until(pending(script, 'n', 'create'));
    script.say({ kind: 'signal', id: 'signal', resource: 'a', signal: {} });
    const { attributes } = script.find('a');
    script.until(() => {
      script.world.shellOf('s').forget();
      return script.find('a').attributes !== attributes;
    });
    must(script.find('n').request?.action === 'create', 'it was overtaken by its own traversal');
    script.ends('CREATE_COMPLETE');
    must(JSON.stringify(script.find('n').properties['from']).includes('null'), 'it was not told');
  },
  'what a nested stack refuses is told as it is, whatever failed in it before': (script) => {
    script.create({ n: wish({ type: 'Nested' }) }).ends('CREATE_COMPLETE');
    const suspend = { kind: 'visit', id: 'suspend', action: 'SUSPEND' } as const;
    script.failing().world.take(script.find('n').id, [suspend]);
    script.ends().mended();
    script.update({ n: wish({ type: 'Nested', value: 2 }) }).ends('UPDATE_FAILED');
    const { reason } = script.world.stack('s');
    must(reason.includes('Updating a stack when it is suspended is not supported.'), reason);
  },
  'what is taken as it is goes before what it uses, and keeps nothing from going': (script) => {
    const lifecycle = [{ transition: 'launching' as const, heartbeat_timeout: 1, default_result: 'abandon' as const }];
    const alone = wish({ restricted: ['replace'] });
    for (const others of [{ a: wish() }, {}]) {
      const other = new Script(script.world.cores);
      other.create({ a: wish(), b: wish({ requires: ['a'], lifecycle }) }).ends('CREATE_FAILED');
      other.update({ ...others, b: alone }).ends('UPDATE_FAILED');
      other.say({ kind: 'resource', id: 'skip', resource: 'b', action: { kind: 'skip' } }).ends('UPDATE_COMPLETE');
      other.remove().ends('DELETE_COMPLETE');
    }
  },
  'what is abandoned stays, and is forgotten': (script) => {
    script.create({ ...chain, n: wish({ type: 'Nested', value: 3 }) }).ends('CREATE_COMPLETE');
    const { size } = script.world.books.physical;
    script.say({ kind: 'delete', id: 'abandon', abandon: true }).ends('DELETE_COMPLETE');
    must(script.world.books.physical.size === size, 'something was deleted');
    must(script.resources.length === 0, 'something is still known');
  },
  'an external object is looked at, used, and left alone': (script) => {
    const wishes = (value: number): Wishes => ({ e: wish({ external: 'x-1' }), b: wish({ requires: ['e'], value }) });
    script.create(wishes(1)).ends('CREATE_COMPLETE');
    const { action, physical_id } = script.find('e');
    must(action === 'CHECK' && physical_id === 'x-1', 'it is not the object that was named');
    script.update(wishes(2)).ends('UPDATE_COMPLETE');
    script.update({ ...wishes(2), e: wish({ external: 'x-2' }) }).ends('UPDATE_FAILED');
    script.update(wishes(2)).ends('UPDATE_COMPLETE');
    script.remove().ends('DELETE_COMPLETE');
  },
  'what may not be replaced is left as it is': (script) => {
    script.create({ a: wish({ restricted: ['replace'] }) }).ends('CREATE_COMPLETE');
    script.update({ a: wish({ restricted: ['replace'], kind: 2 }) }).ends('UPDATE_FAILED');
    const { reason } = script.world.stack('s');
    must(/ResourceActionRestricted: resources\.a: replace is restricted for resource\./.test(reason), reason);
    must(script.find('a').status === 'COMPLETE', 'a is not whole any more');
    script.update({ a: wish({ restricted: ['replace'], value: 2 }) }).ends('UPDATE_COMPLETE');
  },
  'reality is looked at before an update that is told to': (script) => {
    script.create({ a: wish(), b: wish({ requires: ['a'] }) }).ends('CREATE_COMPLETE');
    script.world.providers.drifting = true;
    script.update({ a: wish(), b: wish({ requires: ['a'] }) }, { observe: true }).ends('UPDATE_COMPLETE');
    must(script.find('a').action === 'UPDATE', `what had drifted was not updated: ${script.find('a').action}`);
  },
  'a stack is adopted by the ids of its objects': (script) => {
    const plan = planOf({ a: wish(), b: wish({ requires: ['a'] }), c: wish({ type: 'Plain' }) });
    const adopt = { a: { resource_id: 'A' }, b: { resource_id: 'B' }, c: { resource_id: 'C' } };
    script.world.open(newStack('s', { target: targetOf(script.world.addPlan(plan)), adopt }));
    script.say({ kind: 'create', id: 'create', plan }).ends('ADOPT_COMPLETE');
    must(script.find('b').physical_id === 'B' && script.find('b').action === 'ADOPT', 'it was not taken over');
  },
  'every late word and timer is taken in every phase': (script) => {
    const bring: Readonly<Record<string, (other: Script) => void>> = {
      idle: (other) => other.create(chain).ends('CREATE_COMPLETE'),
      converging: (other) => other.create(chain),
      draining: (other) => {
        other.failing().create({ a: wish(), b: wish(), c: wish() });
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
        other.mended().ends();
      }
    }
  },
};

const word = (action: Extract<Input, { kind: 'resource' }>['action']): Input => ({
  kind: 'resource',
  id: action.kind,
  resource: 'a',
  action,
});
const timer = (name: string): Input => ({ kind: 'timer', id: name, timer: name, traversal: 'an older one' });
const lateInputs: readonly Input[] = [
  { kind: 'create', id: 'create', plan: planOf(chain) },
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
  ...['deadline', 'grace', 'batch', 'retry:none:1', 'hook:none:old'].map(timer),
];

/** All of them, one after the other. @throws Error that names the scenario. Gives what was exercised. */
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
