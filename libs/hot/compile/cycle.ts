/** Cycles among requirements. Each is reported once, as the list of names along it. */

/** Maximum number of cycles reported, because each may be as long as the stack is large. */
const most = 20;

/**
 * Finds the first cycles, in time linear in resources and requirements. It does not recurse, because a chain may be as
 * long as the stack is large.
 */
export function findCycles(requires: ReadonlyMap<string, readonly string[]>): string[][] {
  const state = new Map<string, 'open' | 'done'>();
  const cycles: string[][] = [];
  for (const start of requires.keys()) {
    if (cycles.length >= most) break;
    if (state.has(start)) continue;
    const way = [{ name: start, next: 0 }];
    state.set(start, 'open');
    for (let top = way.at(-1); top; top = way.at(-1)) {
      const required = requires.get(top.name)?.[top.next];
      top.next += 1;
      if (required === undefined) {
        state.set(top.name, 'done');
        way.pop();
      } else if (state.get(required) === 'open' && cycles.length < most) {
        const names = way.map(({ name }) => name);
        cycles.push([...names.slice(names.indexOf(required)), required]);
      } else if (!state.has(required) && requires.has(required)) {
        state.set(required, 'open');
        way.push({ name: required, next: 0 });
      }
    }
  }
  return cycles;
}
