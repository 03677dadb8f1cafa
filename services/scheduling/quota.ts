/**
 * What one project may have, checked before anything of it is stored.
 *
 * The truth is what the store holds: it is counted again before a refusal, and when the last count is old, so that a count
 * in memory never drifts. Between two counts, admissions of this process are added to it. Another replica's admissions
 * are seen with the next count, so replicas together may exceed a quota by what they admit within {@link trustedMs}.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Collections } from './collections.ts';

export interface QuotaLimit {
  readonly most: number;
  /** The name of the setting. */
  readonly setting: string;
}

interface Added {
  readonly project: string;
  readonly stacks: number;
  readonly resources: number;
}

export interface Quotas {
  /**
   * Stores what a project adds, or gives the refusal and stores nothing. Resources of nested stacks count with those of
   * the others.
   */
  within(added: Added, store: () => Promise<unknown>): Promise<AnnealError | undefined>;
}

/** To be called once what was taken is stored, or is not. */
type Taken = (end: 'stored' | 'dropped') => void;

interface Usage {
  counted: number;
  countedAt: number;
  /** Taken, and perhaps not in the store yet. */
  pending: number;
  /** Ever stored by this process. */
  stored: number;
  counting?: Promise<void> | undefined;
}

const trustedMs = 30_000;
/** A project at its limit that keeps asking does not have its resources counted more often. */
const resourcesLeastMs = 1000;
const page = 500;
/** Of which the last count is kept. */
const mostProjects = 1000;

export function createQuotas(parts: {
  collections: Pick<Collections, 'stacks' | 'resources'>;
  limits: { stacks: QuotaLimit; resources: QuotaLimit };
}): Quotas {
  const { stacks, resources } = parts.collections;

  async function* liveStacks(project: string, depth: number): AsyncGenerator<string[]> {
    for (let after = ''; ;) {
      const where = { project, deleted_at: null, depth, ...(after !== '' && { id: { gt: after } }) };
      const live = await stacks.find({ where, orderBy: ['id'], limit: page });
      const last = live.at(-1);
      if (!last) return;
      yield live.map(({ id }) => id);
      after = last.id;
    }
  }
  const countResources = async (project: string): Promise<number> => {
    let total = 0;
    for (let depth = 0; ; depth += 1) {
      let found = false;
      for await (const ids of liveStacks(project, depth)) {
        found = true;
        total += await resources.count({ stack_id: { in: ids } });
      }
      // A nested stack lives no longer than the one around it.
      if (!found) return total;
    }
  };
  const takeStack = createQuota({
    limit: parts.limits.stacks,
    what: 'stacks',
    leastMs: 0,
    count: (project) => stacks.count({ project, deleted_at: null, depth: 0 }),
  });
  const takeResources = createQuota({
    limit: parts.limits.resources,
    what: 'resources',
    leastMs: resourcesLeastMs,
    count: countResources,
  });
  return {
    async within({ project, stacks: newStacks, resources: newResources }, store) {
      const taken: Taken[] = [];
      let end: Parameters<Taken>[0] = 'dropped';
      try {
        for (const take of [() => takeStack(project, newStacks), () => takeResources(project, newResources)]) {
          const outcome = await take();
          if (outcome instanceof AnnealError) return outcome;
          taken.push(outcome);
        }
        await store();
        end = 'stored';
        return undefined;
      } finally {
        for (const give of taken) give(end);
      }
    },
  };
}

function createQuota(parts: {
  limit: QuotaLimit;
  what: string;
  leastMs: number;
  count: (project: string) => Promise<number>;
}): (project: string, wanted: number) => Promise<Taken | AnnealError> {
  const { limit, what, leastMs, count } = parts;
  const usages = new Map<string, Usage>();

  const countAgain = (project: string, usage: Usage): Promise<void> => {
    usage.counting ??= (async () => {
      const storedBefore = usage.stored;
      try {
        const found = await count(project);
        // What was stored meanwhile may be missing in the count. Counted twice until the next count, it refuses too early at worst.
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
        'LimitReached',
        `The project has ${usage.counted + usage.pending} ${what}; with ${wanted} more it would exceed its ${limit.most} (${limit.setting}). Please delete some stacks.`,
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
