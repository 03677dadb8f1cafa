/** Random templates, and their random changes from one update to the next. */
import type { Random, DesiredResource, DesiredResources, WishType } from './model.ts';

const hooks = ['pre-create', 'post-create', 'pre-update', 'post-update', 'pre-delete', 'post-delete'];
const transitions = ['launching', 'terminating', 'updating'] as const;

/** The types of a template, as often as each occurs. */
export const mixedTypes: readonly WishType[] = [
  'Test',
  'Test',
  'Test',
  'Latest',
  'Latest',
  'Plain',
  'Nested',
  'Instant',
];
/** Most resources are answered at once, so that one response makes many of them in one step. */
export const instantTypes: readonly WishType[] = ['Test', 'Nested', 'Instant', 'Instant', 'Instant', 'Instant'];

/** Changes, adds, removes and re-orders: dependencies may turn round between two plans. */
export function changeWishes(before: DesiredResources, random: Random, types = mixedTypes): DesiredResources {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', ...(types === instantTypes ? ['h', 'i', 'j'] : [])].filter(
    (name) => random(100) < (before[name] ? 85 : 50),
  );
  const rank = new Map(names.map((name) => [name, random(1000)]));
  const after: Record<string, DesiredResource> = {};
  for (const name of names) {
    const old = before[name];
    const lower = (other: string): boolean => (rank.get(other) ?? 0) < (rank.get(name) ?? 0);
    const keeps = old?.requires.every((required) => names.includes(required) && lower(required));
    const wish: DesiredResource = {
      requires:
        old && keeps && random(100) < 60 ? old.requires : names.filter((other) => lower(other) && random(100) < 35),
      value: old && random(100) < 70 ? old.value : random(1000),
      kind: old && random(100) < 75 ? old.kind : random(1000),
      type: old && random(100) < 95 ? (old.type ?? 'Test') : (types[random(types.length)] ?? 'Test'),
      ...(random(100) < 8 && { retain: true }),
      ...(random(100) < 8 && { snapshot: true }),
      ...(random(100) < 3 && { broken: true }),
      ...(random(100) < 4 && { external: `x ${random(2)}` }),
      ...(random(100) < 30 && { metadata: random(3) }),
      ...(random(100) < 20 && { description: `the ${random(2)}` }),
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
    after[name] = { ...wish, ...(wish.value % 4 === 1 && { hidden: `secret ${name} ${wish.value}` }) };
  }
  return after;
}
