/** Order of resources by their requirements. */

/** An entry with the names that must come before it. */
export interface Ordered {
  readonly name: string;
  readonly requires: readonly string[];
}

/**
 * Computes levels. The resources of a level can be created in parallel once the levels before it are complete. Without
 * cycles, every name is in exactly one level.
 */
export function levelsOf(resources: readonly Ordered[]): string[][] {
  const waits = new Map<string, number>();
  const frees = new Map<string, string[]>();
  const names = new Set(resources.map(({ name }) => name));
  for (const { name, requires } of resources) {
    const known = requires.filter((required) => names.has(required));
    waits.set(name, known.length);
    for (const required of known) {
      const freed = frees.get(required);
      if (freed) freed.push(name);
      else frees.set(required, [name]);
    }
  }
  const levels: string[][] = [];
  let ready = resources.filter(({ name }) => waits.get(name) === 0).map(({ name }) => name);
  while (ready.length > 0) {
    levels.push(ready);
    const next: string[] = [];
    for (const done of ready) {
      for (const name of frees.get(done) ?? []) {
        const left = (waits.get(name) ?? 0) - 1;
        waits.set(name, left);
        if (left === 0) next.push(name);
      }
    }
    ready = next;
  }
  return levels;
}
