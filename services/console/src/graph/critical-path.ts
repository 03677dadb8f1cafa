/** The chain of work that decides when a stack is ready. Pure. */
export interface Work {
  readonly id: string;
  /** Ids of those that wait for it. */
  readonly followers: readonly string[];
  /** How long it takes or took, in milliseconds; undefined when it has not started. */
  readonly ms: number | undefined;
  /** Work of the same kind takes about as long. */
  readonly kind: string;
}

const mean = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0) / values.length;

/** The ids of the longest chain, counted in time. Work that has not started counts as long as its kind took so far. */
export function criticalPath(all: readonly Work[]): readonly string[] {
  const timed = all.filter(({ ms }) => ms !== undefined);
  const byKind = Map.groupBy(timed, ({ kind }) => kind);
  const whole = timed.length > 0 ? mean(timed.map(({ ms }) => ms ?? 0)) : 1;
  const costOf = ({ ms, kind }: Work): number => {
    const same = byKind.get(kind);
    return Math.max(1, ms ?? (same ? mean(same.map((each) => each.ms ?? 0)) : whole));
  };
  const byId = new Map(all.map((work) => [work.id, work]));
  const rest = new Map<string, { readonly cost: number; readonly next: string | undefined }>();
  const follow = (work: Work, path: ReadonlySet<string>): number => {
    const known = rest.get(work.id);
    if (known) return known.cost;
    const around = new Set(path).add(work.id);
    let best = { cost: 0, next: undefined as string | undefined };
    for (const id of work.followers) {
      const next = byId.get(id);
      if (!next || around.has(id)) continue;
      const cost = follow(next, around);
      if (cost > best.cost) best = { cost, next: id };
    }
    const found = { cost: best.cost + costOf(work), next: best.next };
    rest.set(work.id, found);
    return found.cost;
  };
  let first: string | undefined;
  let most = 0;
  for (const work of all) {
    const cost = follow(work, new Set());
    if (cost > most) [most, first] = [cost, work.id];
  }
  const chain: string[] = [];
  for (let id = first; id !== undefined; id = rest.get(id)?.next) chain.push(id);
  return chain;
}
