/** The chain of work that decides when a stack is ready. Pure. */
import { requiredFirst } from './layout.ts';

export interface Work {
  readonly id: string;
  /** Ids of those that wait for it. */
  readonly followers: readonly string[];
  /** How long it takes or took, in milliseconds; undefined when it has not started. */
  readonly ms: number | undefined;
  /** Work of the same kind takes about as long. */
  readonly kind: string;
}

const mean = (works: readonly Work[]): number => works.reduce((all, { ms }) => all + (ms ?? 0), 0) / works.length;

/** The ids of the longest chain, counted in time. Work that has not started counts as long as its kind took so far. */
export function criticalPath(all: readonly Work[]): readonly string[] {
  const timed = all.filter(({ ms }) => ms !== undefined);
  const whole = timed.length > 0 ? mean(timed) : 1;
  const ofKind = new Map([...Map.groupBy(timed, ({ kind }) => kind)].map(([kind, same]) => [kind, mean(same)]));
  const byId = new Map(all.map((work) => [work.id, work]));
  const rest = new Map<string, { readonly cost: number; readonly next: string | undefined }>();
  // From the end: the followers of each are known then, apart from those that close a cycle.
  for (const id of requiredFirst(new Map(all.map((work) => [work.id, work.followers]))).toReversed()) {
    const { followers = [], ms, kind = '' } = byId.get(id) ?? {};
    let best = { cost: 0, next: undefined as string | undefined };
    for (const next of followers) {
      const { cost = 0 } = rest.get(next) ?? {};
      if (cost > best.cost) best = { cost, next };
    }
    rest.set(id, { cost: best.cost + Math.max(1, ms ?? ofKind.get(kind) ?? whole), next: best.next });
  }
  let first: string | undefined;
  let most = 0;
  for (const { id } of all) {
    const { cost = 0 } = rest.get(id) ?? {};
    if (cost > most) [most, first] = [cost, id];
  }
  const chain: string[] = [];
  for (let id = first; id !== undefined; id = rest.get(id)?.next) chain.push(id);
  return chain;
}
