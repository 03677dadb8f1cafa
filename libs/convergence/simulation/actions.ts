/** Random inputs of a stack: operator actions and stale messages. */
import type { EngineTimer } from '@anneal/contracts/stack-timer.ts';
import type { Scaling } from '../documents.ts';
import type { Input } from '../protocol.ts';
import { simulatedPlan, type Random } from './model.ts';
import { rootId, type SimulatedWorld } from './world.ts';

/** Random options of an update, besides its plan. */
export const updateOptions = (random: Random): Partial<Extract<Input, { kind: 'update' }>> => ({
  ...(random(5) === 0 && { timeout_minutes: 30 + random(60) }),
  ...(random(5) === 0 && { on_failure: (['keep', 'rollback', 'pause'] as const)[random(3)] }),
  ...(random(5) === 0 && { tags: [`tag ${random(3)}`] }),
  ...(random(5) === 0 && { group: { size: random(3) } }),
  ...(random(5) === 0 && { scaling: randomScaling(random) }),
});

const randomScaling = (random: Random): Scaling => ({
  id: `scaling ${random(1_000_000)}`,
  reason: 'signal',
  policy: 'p',
  message: null,
  before: 1,
  after: 2,
  entering: ['b'],
  leaving: [],
  ...(random(2) === 0 && { follows: true }),
});

/** A decision about a group that begins no traversal. */
const randomNote = (random: Random, id: string): Input => ({
  kind: 'group',
  id,
  group: { size: random(3), note: id },
  reports: random(2) === 0 ? [] : [{ stage: 'refused', status: 'FAILED', reason: 'busy', data: {} }],
  timers: [],
});

/** An input that an operator sends to a nested stack directly. */
export function wordToNested(world: SimulatedWorld, stack: string, id: (what: string) => string): Input {
  const names = [...world.shellOf(stack).stored.resources.values()].map(({ name }) => name);
  const resource = names[world.random(names.length || 1)] ?? 'x';
  const action = { kind: 'mark', unhealthy: true, reason: 'bad' } as const;
  const words: readonly Input[] = [
    { kind: 'visit', id: id('visit'), action: 'CHECK' },
    { kind: 'retry', id: id('retry') },
    { kind: 'resource', id: id('mark'), resource, action },
    { kind: 'signal', id: id('signal'), resource, signal: {} },
  ];
  return words[world.random(words.length)] as Input;
}

/** A random input for the stack. `update` and `id` make new inputs and ids. */
export function randomAction(
  world: SimulatedWorld,
  {
    update,
    id,
  }: { update: (more?: Partial<Extract<Input, { kind: 'update' }>>) => Input; id: (what: string) => string },
): Input {
  const { random } = world;
  const { stack, resources } = world.shellOf(rootId).stored;
  const names = [...resources.values()].map(({ name }) => name);
  const resource = names[random(names.length || 1)] ?? 'a';
  const dice = random(100);
  if (dice < 35) return update();
  if (dice < 40) {
    const plan = world.planAt(stack.target.plan);
    return { kind: 'update', id: id('again'), plan, target: stack.target };
  }
  if (dice < 43) return update({ observe: true });
  if (dice < 45) return randomNote(random, id('group'));
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
  // Duplicate and late inputs.
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
  if (word === 0) return { kind: 'create', id: 'create', plan: simulatedPlan({}) };
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
  const timers: readonly EngineTimer[] = [
    { kind: 'grace' },
    { kind: 'batch' },
    { kind: 'retry', resource, fence: 1 },
    { kind: 'hook', resource, token: 'old' },
  ];
  const timer = timers[random(timers.length)] ?? { kind: 'grace' };
  return { kind: 'timer', id: `stale ${traversal} ${timer.kind}`, timer, traversal };
}
