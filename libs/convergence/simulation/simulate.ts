/** One seeded run: random plans and actions arrive while the world misbehaves; then it is left in peace, and must end well. */
import type { Input } from '../protocol.ts';
import { loadState } from '../state.ts';
import { step } from '../step.ts';
import { must } from './books.ts';
import { nestedPlan, newStack, planOf, targetOf, type Random, type Wish, type Wishes, type WishType } from './model.ts';
import type { Core } from './shell.ts';
import { kind, World } from './world.ts';

export interface Run {
  readonly steps: number;
  readonly pairs: ReadonlyMap<string, number>;
  readonly killed: ReadonlyMap<string, number>;
}

export const current: Core = { step, loadState };
const root = 's';

/** @throws Error that names the invariant that was broken. */
export function simulate(seed: number, cores: readonly Core[] = [current]): Run {
  const world = new World(seed, cores);
  const { random } = world;
  const chance = (percent: number): boolean => world.chance(percent);
  let wishes: Wishes = {};
  let count = 0;
  const id = (what: string): string => `${what} ${(count += 1)}`;
  const moody = (): void => {
    world.temper = chance(25)
      ? { ...kind }
      : { fails: 10 + random(40), twice: random(15), dies: chance(40) ? random(8) : 0 };
  };
  const update = (more: Partial<Extract<Input, { kind: 'update' }>> = {}): Input => {
    wishes = changeWishes(wishes, random);
    const plan = planOf(wishes);
    const which = id('update');
    return { kind: 'update', id: which, plan, target: targetOf(world.addPlan(plan), which), ...more };
  };

  wishes = changeWishes({}, random);
  const first = planOf(wishes);
  world.open(
    newStack(root, {
      target: targetOf(world.addPlan(first)),
      on_failure: (['keep', 'rollback', 'pause'] as const)[random(3)] as 'keep',
    }),
  );
  moody();
  world.take(root, [{ kind: 'create', id: 'create', plan: first }]);
  for (let action = 0; action < 1 + random(6); action += 1) {
    const pause = world.clock.now + random(4000);
    // Half of the time at a moment that is rarely met by chance.
    const moment = [undefined, undefined, 'draining', 'paused'][random(4)];
    world.run(() => world.clock.now >= pause || world.stack(root).phase === moment);
    moody();
    world.take(root, [randomAction(world, { update, id })]);
    if (chance(20)) world.run();
  }
  world.run();
  leaveInPeace(world, { update, id, wishes: () => wishes });
  return { steps: world.steps, pairs: world.pairs, killed: world.killed };
}

/** No one misbehaves any more: it must come to what is wanted, stay so, and go without a trace. */
function leaveInPeace(
  world: World,
  { update, id }: { update: () => Input; id: (what: string) => string; wishes: () => Wishes },
): void {
  world.temper = { ...kind };
  const phase = (): string => world.stack(root).phase;
  for (let word = 0; word < 40; word += 1) {
    settle(world, id);
    if (phase() === 'idle') break;
    if (phase() === 'paused') world.take(root, [{ kind: 'rollback', id: id('rollback'), cancel: false }]);
  }
  must(phase() === 'idle', `a traversal is left, ${phase()}`);
  if (world.stack(root).action === 'SUSPEND') {
    world.take(root, [{ kind: 'visit', id: id('resume'), action: 'RESUME' }]);
    world.run();
  }
  if (world.stack(root).action !== 'DELETE' && world.stack(root).action !== 'SUSPEND') {
    const last = update();
    world.take(root, [last]);
    settle(world, id);
    const { status, reason } = world.stack(root);
    if (status === 'COMPLETE') nestedFollow(world);
    must(
      status === 'COMPLETE' || /restricted|Lifecycle hook/.test(reason),
      `a stack that can finish does not: ${reason}`,
    );
    // One that went back tries again, as often as it is asked.
    if (status === 'COMPLETE' && world.stack(root).action === 'UPDATE') idempotent(world, last, id);
  }
  if (world.stack(root).deleted_at === null) {
    world.take(root, [{ kind: 'delete', id: id('the end') }]);
    settle(world, id);
  }
  const { deleted_at, status, reason } = world.stack(root);
  must(deleted_at !== null && status === 'COMPLETE', `delete does not end: ${reason}`);
  for (const [stack, shell] of world.shells) {
    const orphaned = shell.stored.stack.deleted_at === null;
    must(orphaned || world.books.countOf(stack) === 0, `C6: something is left of ${stack} after the deletion`);
  }
  for (const [snapshot, how] of world.snapshots) must(how !== 'IN_PROGRESS', `the snapshot ${snapshot} never ended`);
}

/** Every nested stack went where its resource was told to go last. */
function nestedFollow(world: World): void {
  for (const { stored } of world.shells.values()) {
    for (const resource of stored.resources.values()) {
      if (resource.nested === null || resource.status !== 'COMPLETE' || resource.action === 'DELETE') continue;
      const { target, status } = world.stack(resource.id);
      const wanted = world.addPlan(nestedPlan(resource.properties));
      must(target.plan === wanted && status === 'COMPLETE', `${resource.id} is not where its resource says`);
    }
  }
}

function idempotent(world: World, last: Input, id: (what: string) => string): void {
  // Whoever was told of something new has looked at it once more.
  for (let again = 0; again < 2; again += 1) {
    if (last.kind !== 'update') return;
    const { changes } = world.take(root, [{ ...last, id: id('same') }]);
    settle(world, id);
    // Heat's pre-update hook waits for unchanged resources too.
    const waits = Object.values(last.plan.resources).some(({ hooks: at }) => at?.includes('pre-update'));
    if (again === 0 || waits) continue;
    const requests = changes.effects.filter(({ kind: what }) => what === 'request');
    must(requests.length === 0 && changes.resources.size === 0, 'C8: what is unchanged was sent or written');
    must(world.stack(root).status === 'COMPLETE', 'an update of nothing does not end at once');
  }
}

function settle(world: World, id: (what: string) => string): void {
  for (let word = 0; word < 100; word += 1) {
    world.run(() => waitsForWord(world));
    if (!waitsForWord(world)) return;
    clearHooks(world, id);
  }
}

const waitsForWord = (world: World): boolean =>
  [...world.shells.values()].some(({ stored }) =>
    [...stored.resources.values()].some(({ hook }) => hook?.kind === 'hook'),
  );

/** Someone outside says go, at every hook there is. */
function clearHooks(world: World, id: (what: string) => string): void {
  for (const [stack, shell] of world.shells) {
    for (const { name, hook } of shell.stored.resources.values()) {
      if (hook?.kind !== 'hook') continue;
      world.take(stack, [
        { kind: 'resource', id: id('clear'), resource: name, action: { kind: 'clear hook', hook: hook.name } },
      ]);
    }
  }
}

function randomAction(
  world: World,
  {
    update,
    id,
  }: { update: (more?: Partial<Extract<Input, { kind: 'update' }>>) => Input; id: (what: string) => string },
): Input {
  const { random } = world;
  const { stack, resources } = world.shellOf(root).stored;
  const names = [...resources.values()].map(({ name }) => name);
  const resource = names[random(names.length || 1)] ?? 'a';
  const dice = random(100);
  if (dice < 35) return update();
  if (dice < 40) {
    const plan = world.planAt(stack.target.plan);
    return { kind: 'update', id: id('again'), plan, target: stack.target };
  }
  if (dice < 45) return update({ observe: true });
  if (dice < 48) return update({ as: 'RESTORE' });
  if (dice < 54) return { kind: 'delete', id: id('delete'), ...(random(4) === 0 && { abandon: true }) };
  if (dice < 60) return { kind: 'rollback', id: id('rollback'), cancel: random(2) === 0 };
  if (dice < 65) return { kind: 'cancel', id: id('cancel') };
  if (dice < 71) return { kind: 'retry', id: id('retry') };
  if (dice < 84) {
    const action = (['CHECK', 'SUSPEND', 'RESUME', 'SNAPSHOT'] as const)[random(4)] as 'CHECK';
    const what = id('visit');
    return {
      kind: 'visit',
      id: what,
      action,
      ...((action as string) === 'SNAPSHOT' && { snapshot: { id: what, name: what } }),
    };
  }
  if (dice < 90) {
    return {
      kind: 'resource',
      id: id('mark'),
      resource,
      action: { kind: 'mark', unhealthy: random(3) > 0, reason: 'bad' },
    };
  }
  if (dice < 94) return { kind: 'resource', id: id('skip'), resource, action: { kind: 'skip' } };
  const waiting = [...resources.values()].find(({ hook }) => hook !== null);
  // What was said once comes again, or too late.
  if (dice < 96) return staleTimer(stack, { random, resource: [...resources.keys()][0] ?? '' });
  if (!waiting?.hook) return staleWord(resource, { random, id });
  const { name, token, kind: what } = waiting.hook;
  if (what === 'hook') {
    return { kind: 'resource', id: id('clear'), resource: waiting.name, action: { kind: 'clear hook', hook: name } };
  }
  const result = random(2) === 0 ? 'continue' : 'abandon';
  const action =
    random(3) === 0
      ? ({ kind: 'heartbeat', hook: name, token } as const)
      : ({ kind: 'complete hook', hook: name, token, result } as const);
  return { kind: 'resource', id: id('hook'), resource: waiting.name, action };
}

function staleWord(resource: string, { random, id }: { random: Random; id: (what: string) => string }): Input {
  const word = random(5);
  const hook = 'launching';
  const token = 'an old one';
  if (word === 0) return { kind: 'create', id: 'create', plan: planOf({}) };
  if (word === 1) return { kind: 'signal', id: id('signal'), resource, signal: { a: 1 } };
  if (word === 2)
    return { kind: 'resource', id: id('word'), resource, action: { kind: 'clear hook', hook: 'pre-create' } };
  if (word === 3) return { kind: 'resource', id: id('word'), resource, action: { kind: 'heartbeat', hook, token } };
  return {
    kind: 'resource',
    id: id('word'),
    resource,
    action: { kind: 'complete hook', hook, token, result: 'abandon' },
  };
}

function staleTimer(
  { traversal }: { traversal: string },
  { random, resource }: { random: Random; resource: string },
): Input {
  const timer = ['grace', 'batch', `retry:${resource}:1`, `hook:${resource}:old`][random(4)] ?? 'grace';
  return { kind: 'timer', id: `stale ${traversal} ${timer}`, timer, traversal };
}

const hooks = ['pre-create', 'post-create', 'pre-update', 'post-update', 'pre-delete', 'post-delete'];
const transitions = ['launching', 'terminating', 'updating'] as const;

/** Changes, adds, removes and re-orders: dependencies may turn round between two plans. */
export function changeWishes(before: Wishes, random: Random): Wishes {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].filter((name) => random(100) < (before[name] ? 85 : 50));
  const rank = new Map(names.map((name) => [name, random(1000)]));
  const after: Record<string, Wish> = {};
  for (const name of names) {
    const old = before[name];
    const lower = (other: string): boolean => (rank.get(other) ?? 0) < (rank.get(name) ?? 0);
    const keeps = old?.requires.every((required) => names.includes(required) && lower(required));
    const types: readonly WishType[] = ['Test', 'Test', 'Test', 'Test', 'Plain', 'Nested', 'Instant'];
    after[name] = {
      requires:
        old && keeps && random(100) < 60 ? old.requires : names.filter((other) => lower(other) && random(100) < 35),
      value: old && random(100) < 70 ? old.value : random(1000),
      kind: old && random(100) < 75 ? old.kind : random(1000),
      type: old && random(100) < 95 ? (old.type ?? 'Test') : (types[random(types.length)] ?? 'Test'),
      ...(random(100) < 8 && { retain: true }),
      ...(random(100) < 8 && { hooks: [hooks[random(hooks.length)] ?? ''] }),
      ...(random(100) < 8 && {
        lifecycle: [
          {
            transition: transitions[random(3)] ?? 'launching',
            heartbeat_timeout: 1 + random(5),
            global_timeout: 8,
            default_result: random(2) === 0 ? ('continue' as const) : ('abandon' as const),
          },
        ],
      }),
      ...(random(100) < 15 && { deleteFirst: true }),
      ...(random(100) < 8 && { renewed: true }),
      ...(random(100) < 3 && { restricted: [random(2) === 0 ? 'update' : 'replace'] }),
    };
  }
  return after;
}
