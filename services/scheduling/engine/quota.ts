/**
 * Limits the stacks, resources and bytes of a project, before anything of them is stored.
 *
 * The store is the source of truth. It is counted again before a refusal, and when the last count is old, so that the
 * count in memory never drifts. Between two counts, admissions of this process are added to the count. Admissions of
 * another replica appear in the next count. So replicas together may exceed a quota by what they admit within
 * {@link trustedMs}. A new target is charged when it is admitted. What resources add to their documents later is charged
 * to the next admission.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { SchedulingCollections } from '../collections.ts';

export interface QuotaLimit {
  readonly most: number;
  /** The name of the setting. */
  readonly setting: string;
}

interface Added {
  readonly project: string;
  readonly stacks: number;
  readonly resources: number;
  /** Bytes of its contents. */
  readonly bytes: number;
}

export interface Quotas {
  /**
   * Stores what a project adds, or returns the refusal and stores nothing. Resources of nested stacks count like all
   * others.
   */
  within(added: Added, store: () => Promise<unknown>): Promise<AnnealError | undefined>;
}

/** Ends a reservation: its stacks or resources are stored, or are not. */
type Taken = (end: 'stored' | 'dropped') => void;

interface Usage {
  counted: number;
  countedAt: number;
  /** Reserved, and perhaps not in the store yet. */
  pending: number;
  /** The total that this process has stored. */
  stored: number;
  counting?: Promise<void> | undefined;
}

const trustedMs = 30_000;
/** The minimum time between two counts of resources for a project that is at its limit and keeps asking. */
const resourcesLeastMs = 1000;
const page = 500;
/** The number of projects whose last count is kept. */
const mostProjects = 1000;

export function createQuotas(parts: {
  collections: Pick<SchedulingCollections, 'stacks' | 'resources'>;
  limits: { stacks: QuotaLimit; resources: QuotaLimit; bytes: QuotaLimit };
}): Quotas {
  const { stacks, resources } = parts.collections;

  const countResources = async (project: string): Promise<number> => {
    const counts: Promise<number>[] = [];
    for (let depth = 0; ; depth += 1) {
      const before = counts.length;
      for await (const live of liveStacks(stacks, { project, depth })) {
        const count = resources.count({ stack_id: { in: live.map(({ id }) => id) } });
        count.catch(() => undefined);
        counts.push(count);
      }
      // A level without live stacks is the last one, because a nested stack lives no longer than the one around it.
      if (counts.length === before) break;
    }
    return (await Promise.all(counts)).reduce((total, count) => total + count, 0);
  };
  const countBytes = async (project: string): Promise<number> => {
    let total = 0;
    for (let depth = 0; ; depth += 1) {
      let found = 0;
      for await (const live of liveStacks(stacks, { project, depth })) {
        found += live.length;
        for (const { sizes } of live) total += sizes ? sizes.contents + sizes.resources : 0;
      }
      if (found === 0) return total;
    }
  };
  const takeStack = createQuota({
    limit: parts.limits.stacks,
    what: 'stacks',
    refusalOf: (most) => `You have reached the maximum stacks per tenant, ${most}. Please delete some stacks.`,
    leastMs: 0,
    count: (project) => stacks.count({ project, deleted_at: null, depth: 0 }),
  });
  const takeResources = createQuota({
    limit: parts.limits.resources,
    what: 'resources',
    refusalOf: () => 'Maximum resources per project exceeded. Please delete some stacks.',
    leastMs: resourcesLeastMs,
    count: countResources,
  });
  const takeBytes = createQuota({
    limit: parts.limits.bytes,
    what: 'bytes',
    refusalOf: () => 'Maximum size of the stacks of a project exceeded. Please delete some stacks.',
    leastMs: resourcesLeastMs,
    count: countBytes,
  });
  return {
    async within({ project, stacks: newStacks, resources: newResources, bytes }, store) {
      // All counts at once, because a store may take seconds for each.
      const outcomes = await Promise.allSettled([
        takeStack(project, newStacks),
        takeResources(project, newResources),
        takeBytes(project, bytes),
      ]);
      const found = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const taken = found.filter((outcome) => typeof outcome === 'function');
      let end: Parameters<Taken>[0] = 'dropped';
      try {
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
        const refusal = found.find((outcome) => outcome instanceof AnnealError);
        if (refusal) return refusal;
        await store();
        end = 'stored';
        return undefined;
      } finally {
        for (const give of taken) give(end);
      }
    },
  };
}

/** The live stacks of a project at one depth, by pages. */
async function* liveStacks(
  stacks: SchedulingCollections['stacks'],
  { project, depth }: { project: string; depth: number },
): AsyncGenerator<StackDocument[]> {
  for (let after = ''; ;) {
    const where = { project, deleted_at: null, depth, ...(after !== '' && { id: { gt: after } }) };
    const live = await stacks.find({ where, orderBy: ['id'], limit: page });
    const last = live.at(-1);
    if (!last) return;
    yield live;
    if (live.length < page) return;
    after = last.id;
  }
}

function createQuota(parts: {
  limit: QuotaLimit;
  what: string;
  /** The beginning of the refusal: for stacks, the sentence of Heat. */
  refusalOf: (most: number) => string;
  leastMs: number;
  count: (project: string) => Promise<number>;
}): (project: string, wanted: number) => Promise<Taken | AnnealError> {
  const { limit, what, refusalOf, leastMs, count } = parts;
  const usages = new Map<string, Usage>();

  const countAgain = (project: string, usage: Usage): Promise<void> => {
    usage.counting ??= (async () => {
      const storedBefore = usage.stored;
      try {
        const found = await count(project);
        // The count may miss what was stored meanwhile, so add it. Counted twice, it only causes an early refusal.
        usage.counted = found + usage.stored - storedBefore;
        usage.countedAt = performance.now();
      } finally {
        usage.counting = undefined;
      }
    })();
    return usage.counting;
  };

  return async (project, wanted) => {
    if (wanted <= 0) return () => undefined;
    const usage = usages.get(project) ?? { counted: 0, countedAt: -Infinity, pending: 0, stored: 0 };
    usages.delete(project);
    usages.set(project, usage);
    forgetOldest(usages);
    const isOver = (): boolean => usage.counted + usage.pending + wanted > limit.most;
    const age = performance.now() - usage.countedAt;
    if (age > trustedMs || (isOver() && age >= leastMs)) await countAgain(project, usage);
    if (isOver()) {
      return new AnnealError(
        'QuotaExceeded',
        `${refusalOf(limit.most)} The project has ${usage.counted + usage.pending} ${what}; with ${wanted} more it would exceed its ${limit.most} (${limit.setting}).`,
      );
    }
    usage.pending += wanted;
    return (end) => {
      usage.pending -= wanted;
      if (end === 'dropped') return;
      usage.counted += wanted;
      usage.stored += wanted;
    };
  };
}

function forgetOldest(usages: Map<string, Usage>): void {
  for (const [project, { pending, counting }] of usages) {
    if (usages.size <= mostProjects) return;
    if (pending === 0 && !counting) usages.delete(project);
  }
}
