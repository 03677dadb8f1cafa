/** One seeded run: random plans and actions in a misbehaving world; then faults stop, and the stack must converge. */
import type { Input } from '../protocol.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { loadState } from '../state.ts';
import { step } from '../step.ts';
import { randomAction, updateOptions, wordToNested } from './actions.ts';
import { must } from './checks/ledger.ts';
import { nestedPlan, newSimulatedStack, simulatedPlan, simulatedTarget, type DesiredResources } from './model.ts';
import type { Core } from './shell.ts';
import { kind } from './providers.ts';
import { changeWishes, instantTypes, mixedTypes } from './wishes.ts';
import { rootId, SimulatedWorld, type SimulationOptions } from './world.ts';

/** The measures of one run. */
export interface Run {
  readonly steps: number;
  readonly pairs: ReadonlyMap<string, number>;
  readonly killed: ReadonlyMap<string, number>;
}

/** The core of this source tree. */
export const current: Core = { step, loadState };
const root = rootId;

/** Lives one life of a tree of stacks. @throws Error that names the invariant that was broken */
export function simulate(seed: number, cores: readonly Core[] = [current], options: SimulationOptions = {}): Run {
  const { isOrderly = false } = options;
  const world = new SimulatedWorld(seed, cores, options);
  const { random } = world;
  const chance = (percent: number): boolean => world.chance(percent);
  const types = options.types ?? (isOrderly || seed % 8 > 2 ? mixedTypes : instantTypes);
  let wishes: DesiredResources = {};
  let count = 0;
  const id = (what: string): string => `${what} ${(count += 1)}`;
  const moody = (): void => {
    const dies = chance(40) ? random(8) : 0;
    world.temper = chance(40)
      ? { fails: 0, twice: random(15), dies, busy: random(40) }
      : { fails: 10 + random(40), twice: random(15), dies, busy: 0 };
    world.calm = world.temper.fails === 0 && (world.calm || isQuiet(world));
  };
  const update = (more: Partial<Extract<Input, { kind: 'update' }>> = {}): Input => {
    wishes = changeWishes(wishes, random, types);
    const plan = simulatedPlan(wishes);
    const which = id('update');
    const target = simulatedTarget(world.addPlan(plan), which);
    return { kind: 'update', id: which, plan, target, ...updateOptions(random), ...more };
  };

  wishes = changeWishes({}, random, types);
  const first = simulatedPlan(wishes);
  world.open(
    newSimulatedStack(root, {
      target: simulatedTarget(world.addPlan(first)),
      on_failure: (['keep', 'rollback', 'pause'] as const)[random(3)] as 'keep',
      adopt: chance(6) ? adoption(wishes) : null,
    }),
  );
  moody();
  world.take(root, [{ kind: 'create', id: 'create', plan: first }]);
  for (let action = 0; action < 1 + random(6); action += 1) {
    const pause = world.clock.now + random(4000);
    // Half of the time in a phase that chance rarely meets.
    const moment = [undefined, undefined, 'draining', 'paused'][random(4)];
    // At times one action follows another without any delay.
    if (!world.disorder.chance(25)) world.run(() => world.clock.now >= pause || world.stack(root).phase === moment);
    moody();
    const nested = [...world.shells.keys()].filter((other) => other !== root && world.stack(other).traversal !== '');
    const inner = chance(10) ? nested[random(nested.length || 1)] : undefined;
    const input = inner === undefined ? randomAction(world, { update, id }) : wordToNested(world, inner, id);
    world.take(inner ?? root, [input]);
    // A client that got no answer sends the input again.
    if (chance(10)) world.take(inner ?? root, [input]);
    if (chance(20)) world.run();
  }
  world.run();
  // A policy would not overtake what still runs.
  leaveInPeace(world, { update: () => update({ scaling: undefined }), id, wishes: () => wishes });
  return { steps: world.steps, pairs: world.pairs, killed: world.killed };
}

const isQuiet = (world: SimulatedWorld): boolean =>
  [...world.shells.values()].every(({ stored }) => stored.stack.phase === 'idle');

/** Data of an abandoned stack, as far as the core reads it. */
const adoption = (wishes: DesiredResources): JsonObject =>
  Object.fromEntries(
    Object.keys(wishes).map((name) => [name, { resource_id: `old ${name}`, metadata: { old: name } }]),
  );

/** Stops all faults: the stack must reach its plan, stay there, and be deleted completely. */
function leaveInPeace(
  world: SimulatedWorld,
  { update, id }: { update: () => Input; id: (what: string) => string; wishes: () => DesiredResources },
): void {
  world.temper = { ...kind };
  const phase = (): string => world.stack(root).phase;
  for (let word = 0; word < 40; word += 1) {
    settle(world, id);
    if (phase() === 'idle') break;
    if (phase() === 'paused') world.take(root, [{ kind: 'rollback', id: id('rollback'), cancel: false }]);
  }
  must(phase() === 'idle', `a traversal still runs: ${phase()}`);
  world.calm = true;
  if (world.stack(root).suspended) {
    world.take(root, [{ kind: 'visit', id: id('resume'), action: 'RESUME' }]);
    world.run();
  }
  if (world.stack(root).action !== 'DELETE' && !world.stack(root).suspended) {
    const last = update();
    world.take(root, [last]);
    settle(world, id);
    const { status, reason } = world.stack(root);
    if (status === 'COMPLETE') nestedFollow(world);
    must(
      status === 'COMPLETE' || /restricted|Lifecycle hook|broken|external_id/.test(reason),
      `a stack that can complete does not: ${reason}`,
    );
    // A stack that rolled back tries the update again each time, so check only a successful UPDATE.
    if (status === 'COMPLETE' && world.stack(root).action === 'UPDATE') idempotent(world, last, id);
  }
  if (world.stack(root).deleted_at === null) {
    world.take(root, [{ kind: 'delete', id: id('the end') }]);
    settle(world, id);
  }
  const { deleted_at, status, reason } = world.stack(root);
  must(deleted_at !== null && status === 'COMPLETE', `the deletion does not complete: ${reason}`);
  for (const [stack, shell] of world.shells) {
    const orphaned = shell.stored.stack.deleted_at === null;
    must(orphaned || world.books.countOf(stack) === 0, `C6: objects of ${stack} are left after the deletion`);
  }
  for (const [snapshot, how] of world.snapshots) must(how !== 'IN_PROGRESS', `the snapshot ${snapshot} never ended`);
}

/** Checks that every nested stack reached the last properties of its resource. */
function nestedFollow(world: SimulatedWorld): void {
  for (const { stored } of world.shells.values()) {
    for (const resource of stored.resources.values()) {
      if (
        resource.nested === null ||
        resource.external ||
        resource.skipped !== null ||
        resource.status !== 'COMPLETE' ||
        resource.action === 'DELETE'
      )
        continue;
      const { target, status } = world.stack(resource.id);
      const wanted = world.addPlan(nestedPlan(resource.properties));
      must(
        target.plan === wanted && status === 'COMPLETE',
        `${resource.id} has not reached the target that its resource names`,
      );
    }
  }
}

function idempotent(world: SimulatedWorld, last: Input, id: (what: string) => string): void {
  // The first repeat lets resources read values that changed late; only the second must do nothing.
  for (let again = 0; again < 2; again += 1) {
    if (last.kind !== 'update') return;
    const { changes } = world.take(root, [{ ...last, id: id('same') }]);
    settle(world, id);
    // Heat's pre-update hook waits for unchanged resources too.
    const waits = Object.values(last.plan.resources).some(({ hooks: at }) => at?.includes('pre-update'));
    if (again === 0 || waits) continue;
    const requests = changes.effects.filter(({ kind: what }) => what === 'request');
    must(requests.length === 0 && changes.resources.size === 0, 'C8: an unchanged resource was sent or written');
    must(world.stack(root).status === 'COMPLETE', 'an update without a change does not complete at once');
  }
}

function settle(world: SimulatedWorld, id: (what: string) => string): void {
  for (let word = 0; word < 100; word += 1) {
    world.run(() => waitsForWord(world));
    if (!waitsForWord(world)) return;
    clearHooks(world, id);
  }
}

const waitsForWord = (world: SimulatedWorld): boolean =>
  [...world.shells.values()].some(({ stored }) =>
    [...stored.resources.values()].some(({ hook }) => hook?.kind === 'hook'),
  );

/** Clears every hook, as a client would. */
function clearHooks(world: SimulatedWorld, id: (what: string) => string): void {
  for (const [stack, shell] of world.shells) {
    for (const { name, hook } of shell.stored.resources.values()) {
      if (hook?.kind !== 'hook') continue;
      world.take(stack, [
        { kind: 'resource', id: id('clear'), resource: name, action: { kind: 'clear hook', hook: hook.name } },
      ]);
    }
  }
}
