/**
 * Limits the stacks, resources and bytes of a project, before anything of them is stored.
 *
 * The store is the source of truth. It is counted again before a refusal, and when the last count is old, so that the
 * count in memory never drifts. Between two counts, admissions of this process are added to the count. Admissions of
 * another replica appear in the next count. So replicas together may exceed the quotas of resources and bytes by what they
 * admit within {@link trustedMs}. They do not exceed that of stacks: near its limit, a new stack is admitted by the store
 * (Q3 of `ProjectQuotas`), which costs three writes more. A new target is charged when it is admitted. What resources add
 * to their documents later is charged to the next admission.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Admission, Admit, QuotaLimit } from '@anneal/runtime/service/project-quotas.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { StackDocument, Target } from '@anneal/convergence/documents.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Contents } from './contents.ts';
import type { Plans } from './plans.ts';

interface Added {
  readonly project: string;
  readonly stacks: number;
  readonly resources: number;
  /** Bytes of its contents. */
  readonly bytes: number;
  /** Count it, and never refuse it. */
  readonly restores?: boolean | undefined;
  /** The message that adds it. What one message adds is admitted once, however often its step is tried. */
  readonly by?: string;
}

export interface Quotas {
  /** Counts the stored objects of a project. */
  used: Readonly<Record<'stacks' | 'resources' | 'stack_bytes', (project: string) => Promise<number>>>;
  /** Reads the limits of a project again before its next admission. */
  changed(project: string): void;
  /**
   * Stores what a project adds, or returns the refusal and stores nothing. Resources of nested stacks count like all
   * others.
   */
  within(added: Added, store: () => Promise<unknown>): Promise<AnnealError | undefined>;
}

interface Counted {
  readonly resources: number;
  readonly bytes: number;
}

/** The average size of a stored event. Events are counted and never refused, because they report what has happened. */
const bytesOfEvent = 300;

/** The bytes of a stack: contents, resources and events. */
const bytesOfStack = ({ sizes, event_sequence: events }: StackDocument): number =>
  (sizes ? sizes.contents + sizes.resources : 0) + events * bytesOfEvent;

/** Ends a reservation: its stacks or resources are stored, or are not. */
type Taken = (end: 'stored' | 'dropped') => void;

interface Usage {
  limit: QuotaLimit;
  counted: number;
  countedAt: number;
  /** Reserved, and perhaps not in the store yet. */
  pending: number;
  /** The total that this process has stored. */
  stored: number;
  counting?: Promise<void> | undefined;
}

/** Replicas together admit fewer stacks of a project at the same time. */
const mostAtOnce = 1000;
const trustedMs = 30_000;
/** The minimum time between two counts of resources for a project that is at its limit and keeps asking. */
const resourcesLeastMs = 1000;
const page = 500;
/** The number of projects whose last count is kept. */
const mostProjects = 1000;
/** The number of messages whose admission is kept. */
const mostMessages = 1000;

export function createQuotas(parts: {
  collections: Pick<SchedulingCollections, 'stacks' | 'resources' | 'snapshotSizes'>;
  limitOf: (name: 'stacks' | 'resources' | 'stack_bytes', project: string) => Promise<QuotaLimit>;
  /** Admits stacks exactly. */
  admit: Admit;
}): Quotas {
  const used = usedIn(parts.collections);
  const refusalOf = (most: number): string =>
    `You have reached the maximum stacks per tenant, ${most}. Please delete some stacks.`;
  const admission = (project: string, wanted: number): Admission => ({
    wanted,
    count: () => used.stacks(project),
    refusal: ({ there, limit }) => refusal({ refusalOf, what: 'stacks', there, wanted, limit }),
  });
  const stackQuota = createQuota({
    limitOf: (project) => parts.limitOf('stacks', project),
    what: 'stacks',
    refusalOf,
    leastMs: 0,
    count: used.stacks,
  });
  const resourceQuota = createQuota({
    limitOf: (project) => parts.limitOf('resources', project),
    what: 'resources',
    refusalOf: () => 'Maximum resources per project exceeded. Please delete some stacks.',
    leastMs: resourcesLeastMs,
    count: used.resources,
  });
  const byteQuota = createQuota({
    limitOf: (project) => parts.limitOf('stack_bytes', project),
    what: 'bytes',
    refusalOf: () => 'Maximum size of the stacks of a project exceeded. Please delete some stacks.',
    leastMs: resourcesLeastMs,
    count: used.stack_bytes,
  });
  const all = [stackQuota, resourceQuota, byteQuota];
  const admitted = new Recent<true>(mostMessages);
  return {
    used,
    changed: (project) => {
      for (const quota of all) quota.changed(project);
    },
    async within({ project, stacks: newStacks, resources: newResources, bytes, restores = false, by }, store) {
      const key = by && JSON.stringify([project, by, newStacks, newResources, bytes]);
      if (key !== undefined && admitted.get(key)) {
        await store();
        return undefined;
      }
      // All counts at once, because a store may take seconds for each.
      const outcomes = await Promise.allSettled([
        stackQuota.take(project, { wanted: newStacks, restores }),
        resourceQuota.take(project, { wanted: newResources, restores }),
        byteQuota.take(project, { wanted: bytes, restores }),
      ]);
      const [ofStacks] = outcomes;
      const found = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const taken = found.filter((outcome) => typeof outcome === 'function');
      // At once, because a count that finds what is still reserved counts it twice.
      const storeAndEnd = async (): Promise<void> => {
        await store();
        for (const give of taken.splice(0)) give('stored');
      };
      try {
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
        // The count in memory of stacks may be too high, so the store decides.
        const isOver = ofStacks.status === 'fulfilled' && ofStacks.value instanceof AnnealError;
        const refused = found.find(
          (outcome) => outcome instanceof AnnealError && !(isOver && outcome === ofStacks.value),
        );
        if (refused instanceof AnnealError) return refused;
        const isNear = newStacks > 0 && !restores && (isOver || stackQuota.left(project) < mostAtOnce);
        await (isNear ? parts.admit(project, admission(project, newStacks), storeAndEnd) : storeAndEnd());
        if (key !== undefined) admitted.set(key, true);
        return undefined;
      } catch (error) {
        if (hasCode(error, 'QuotaExceeded')) return error;
        throw error;
      } finally {
        for (const give of taken) give('dropped');
      }
    },
  };
}

/** Counts what a project has. */
function usedIn({
  stacks,
  resources,
  snapshotSizes,
}: Pick<SchedulingCollections, 'stacks' | 'resources' | 'snapshotSizes'>): Quotas['used'] {
  /** Counts resources and bytes in one walk over the live stacks. */
  const walk = async (project: string): Promise<Counted> => {
    const counts: Promise<number>[] = [];
    let bytes = 0;
    for (let depth = 0; ; depth += 1) {
      const before = counts.length;
      for await (const live of liveStacks(stacks, { project, depth })) {
        const where = { stack_id: { in: live.map(({ id }) => id) } };
        const count = resources.count(where);
        count.catch(() => undefined);
        counts.push(count);
        for (const stack of live) bytes += bytesOfStack(stack);
        for (const snapshot of await snapshotSizes.find({ where })) bytes += snapshot.bytes;
      }
      // A level without live stacks is the last one, because a nested stack lives no longer than the one around it.
      if (counts.length === before) break;
    }
    return { resources: (await Promise.all(counts)).reduce((total, count) => total + count, 0), bytes };
  };
  const walks = new Map<string, Promise<Counted>>();
  /** The quotas of resources and of bytes share a walk when they begin it in the same turn. */
  const walkOnce = (project: string): Promise<Counted> => {
    const begun = walks.get(project);
    if (begun) return begun;
    const walking = walk(project);
    walks.set(project, walking);
    queueMicrotask(() => walks.delete(project));
    return walking;
  };
  return {
    stacks: (project) => stacks.count({ project, deleted_at: null, depth: 0 }),
    resources: async (project) => (await walkOnce(project)).resources,
    stack_bytes: async (project) => (await walkOnce(project)).bytes,
  };
}

/** The growth of a stack that exists: the contents of a new target, or data that a resource keeps. */
export type Growth = {
  /** The message that asks for it. */
  readonly by: string;
} & (
  | {
      readonly target: Pick<Target, 'plan' | 'template' | 'environment' | 'files'>;
      /** A rollback is counted and never refused, because it restores what existed. */
      readonly restores?: boolean | undefined;
    }
  | { readonly bytes: number }
);

/** Admits what a client, a parent stack or a policy adds to a stack. Returns the refusal, if any. */
export async function refuseGrowth(
  { quotas, plans, contents }: { quotas: Quotas; plans: Plans; contents: Contents },
  { stack, resources }: Pick<State, 'stack' | 'resources'>,
  growth: Growth,
): Promise<AnnealError | undefined> {
  const { project } = stack;
  const { by } = growth;
  const done = async (): Promise<void> => undefined;
  if ('bytes' in growth) return quotas.within({ project, stacks: 0, resources: 0, bytes: growth.bytes, by }, done);
  const { target, restores } = growth;
  const plan = await plans.get(target.plan);
  const added = Object.keys(plan.resources).length - resources.size;
  const bytes = (await contents.bytesOf(target, stack.depth)) - (stack.sizes?.contents ?? 0);
  return quotas.within({ project, stacks: 0, resources: added, bytes, restores, by }, done);
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
  limitOf: (project: string) => Promise<QuotaLimit>;
  what: string;
  /** The beginning of the refusal: for stacks, the sentence of Heat. */
  refusalOf: (most: number) => string;
  leastMs: number;
  count: (project: string) => Promise<number>;
}): {
  take(project: string, asked: { wanted: number; restores: boolean }): Promise<Taken | AnnealError>;
  changed(project: string): void;
  /** The rest of the limit, by the last count. */
  left(project: string): number;
} {
  const { limitOf, what, refusalOf, leastMs, count } = parts;
  const usages = new Map<string, Usage>();

  const countAgain = (project: string, usage: Usage): Promise<void> => {
    usage.counting ??= (async () => {
      const storedBefore = usage.stored;
      try {
        const [found, limit] = await Promise.all([count(project), limitOf(project)]);
        usage.limit = limit;
        // The count may miss what was stored meanwhile, so add it. Counted twice, it only causes an early refusal.
        usage.counted = found + usage.stored - storedBefore;
        usage.countedAt = performance.now();
      } finally {
        usage.counting = undefined;
      }
    })();
    return usage.counting;
  };

  const take = async (project: string, { wanted, restores }: { wanted: number; restores: boolean }) => {
    if (wanted <= 0) return () => undefined;
    const usage = usages.get(project) ?? { limit: noLimit, counted: 0, countedAt: -Infinity, pending: 0, stored: 0 };
    usages.delete(project);
    usages.set(project, usage);
    forgetOldest(usages);
    const isOver = (): boolean => !restores && usage.counted + usage.pending + wanted > usage.limit.most;
    const age = performance.now() - usage.countedAt;
    if (age > trustedMs || (isOver() && age >= leastMs)) await countAgain(project, usage);
    if (isOver()) {
      const { limit } = usage;
      return refusal({ refusalOf, what, there: usage.counted + usage.pending, wanted, limit });
    }
    usage.pending += wanted;
    return (end: Parameters<Taken>[0]) => {
      usage.pending -= wanted;
      if (end === 'dropped') return;
      usage.counted += wanted;
      usage.stored += wanted;
    };
  };
  const changed = (project: string): void => {
    const usage = usages.get(project);
    if (usage) usage.countedAt = -Infinity;
  };
  const left = (project: string): number => {
    const usage = usages.get(project);
    return usage ? usage.limit.most - usage.counted - usage.pending : 0;
  };
  return { take, changed, left };
}

const refusal = ({
  refusalOf,
  what,
  there,
  wanted,
  limit: { most, setting },
}: {
  refusalOf: (most: number) => string;
  what: string;
  there: number;
  wanted: number;
  limit: QuotaLimit;
}): AnnealError =>
  new AnnealError(
    'QuotaExceeded',
    `${refusalOf(most)} The project has ${there} ${what}; with ${wanted} more it would exceed its ${most} (${setting}).`,
  );

/** Before the first count, which reads the limit. */
const noLimit: QuotaLimit = { most: Infinity, setting: '' };

function forgetOldest(usages: Map<string, Usage>): void {
  for (const [project, { pending, counting }] of usages) {
    if (usages.size <= mostProjects) return;
    if (pending === 0 && !counting) usages.delete(project);
  }
}
