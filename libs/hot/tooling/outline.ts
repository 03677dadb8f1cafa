/** A plan seen as work: the order of creation, what runs in parallel, and the longest path. */
import type { Plan } from '@anneal/contracts/plan.ts';
import { levelsOf } from '../tree/order.ts';

/** The work of a plan. */
export interface Outline {
  /** The resources of a level can be created in parallel once the levels before it are complete. */
  readonly levels: readonly (readonly { readonly name: string; readonly type: string }[])[];
  /** The longest chain of requirements, counted in resources. No parallelism makes it shorter. */
  readonly critical_path: readonly string[];
  readonly resources: number;
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

/** The order of work of a plan. Costs time linear in resources and requirements. */
export function outline({ resources }: Plan): Outline {
  const all = Object.values(resources);
  const typeOf = new Map(all.map(({ name, type }) => [name, type]));
  const levels = levelsOf(all);
  return {
    levels: levels.map((names) => names.map((name) => ({ name, type: typeOf.get(name) ?? '' }))),
    critical_path: longest(levels, new Map(all.map(({ name, requires }) => [name, requires]))),
    resources: all.length,
    edges: all.flatMap(({ name, requires }) => requires.map((from) => ({ from, to: name }))),
  };
}

/** A resource's level is the length of its longest chain, so the path back visits one resource of each level. */
function longest(levels: readonly string[][], requires: ReadonlyMap<string, readonly string[]>): string[] {
  const levelOf = new Map(levels.flatMap((names, level) => names.map((name) => [name, level] as const)));
  const way: string[] = [];
  for (let name = levels.at(-1)?.[0]; name !== undefined;) {
    way.unshift(name);
    const before: number = (levelOf.get(name) ?? 0) - 1;
    name = requires.get(name)?.find((required) => levelOf.get(required) === before);
  }
  return way;
}
