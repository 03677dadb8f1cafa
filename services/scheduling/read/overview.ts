/** The stacks of a project at a glance: how many are in which state, and why some need a look. */
import type { StackAttention, stackOverview, stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import { changedAt, isCancelled } from '../views.ts';
import { stackStates } from './counts.ts';

type Question = z.infer<(typeof stackOverview)['data']>;
type Overview = z.infer<(typeof stackOverview)['answer']>;
type Why = (question: z.infer<(typeof stackWhy)['data']>) => Promise<z.infer<(typeof stackWhy)['answer']>>;

/**
 * Counts the root stacks of a project, and explains `most` of those in progress and `most` of those that failed, in
 * themselves or in a nested stack. Stacks at rest, which are most of them, are counted by an index and not read.
 */
export const createOverview =
  ({ collections, why }: { collections: Pick<SchedulingCollections, 'stacks'>; why: Why }) =>
  async ({ project, most }: Question): Promise<Overview> => {
    const [counted, { working, failed, cancelled }] = await Promise.all([
      countRoots(collections.stacks, project),
      unfinishedRoots(collections.stacks, project),
    ]);
    const explained = (stacks: readonly StackDocument[]): Promise<StackAttention[]> =>
      Promise.all(
        stacks.slice(0, most).map(async (stack) => ({
          id: stack.id,
          name: stack.name,
          action: stack.action,
          status: stack.status,
          paused: stack.phase === 'paused',
          since: changedAt(stack),
          why: await why({ project, stack: stack.id }),
        })),
      );
    return {
      counts: withCancelled(counted, cancelled),
      working: await explained(working.toSorted((a, b) => changedAt(a).localeCompare(changedAt(b)))),
      failed: await explained(failed.toSorted((a, b) => changedAt(b).localeCompare(changedAt(a)))),
      working_count: working.length,
      failed_count: failed.length,
    };
  };

type Stacks = Pick<SchedulingCollections['stacks'], 'find' | 'getMany' | 'count'>;

async function countRoots(stacks: Stacks, project: string): Promise<Record<string, number>> {
  const counted = await Promise.all(
    [...stackStates].map(async ([name, state]) => [name, await stacks.count({ project, depth: 0, ...state })] as const),
  );
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

/** Counts stacks whose last action was cancelled apart from those that failed, e.g. as `CREATE_CANCELLED`. */
function withCancelled(
  counted: Readonly<Record<string, number>>,
  cancelled: readonly StackDocument[],
): Record<string, number> {
  const counts = { ...counted };
  for (const { action } of cancelled) {
    const [failed, name] = [`${action}_FAILED`, `${action}_CANCELLED`];
    counts[failed] = Math.max(0, (counts[failed] ?? 0) - 1);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

interface UnfinishedRoots {
  readonly working: readonly StackDocument[];
  readonly failed: readonly StackDocument[];
  /** Those whose last action was cancelled, also while what had begun goes on. */
  readonly cancelled: readonly StackDocument[];
}

/** The roots that work or have failed: by themselves, or by a nested stack, as a group does that scales. */
async function unfinishedRoots(stacks: Stacks, project: string): Promise<UnfinishedRoots> {
  const [busy, broken] = await Promise.all(
    (['IN_PROGRESS', 'FAILED'] as const).map(async (status) => {
      const found = await stacks.find({ where: { project, status } });
      return found.filter(({ deleted_at: gone }) => gone === null);
    }),
  );
  const isRoot = ({ depth }: StackDocument): boolean => depth === 0;
  const failed = new Map<string, StackDocument>();
  const working = new Map<string, StackDocument>();
  for (const stack of [...(broken ?? []), ...(busy ?? [])].filter(isRoot)) {
    // Nothing of it runs any more, and nothing has failed.
    if (isCancelled(stack) && stack.phase === 'idle') continue;
    const hasFailed = (stack.status === 'FAILED' && !isCancelled(stack)) || stack.phase === 'paused';
    (hasFailed ? failed : working).set(stack.id, stack);
  }
  /** The complete roots of nested stacks. */
  const around = async (nested: readonly StackDocument[] = []): Promise<readonly StackDocument[]> => {
    const ids = new Set(nested.filter((stack) => !isRoot(stack)).map(({ root }) => root));
    const unknown = [...ids].filter((id) => !failed.has(id) && !working.has(id));
    const roots = unknown.length === 0 ? [] : await stacks.getMany(unknown);
    return roots.filter(({ deleted_at: gone }) => gone === null);
  };
  for (const root of await around(broken?.filter((stack) => !isCancelled(stack)))) failed.set(root.id, root);
  for (const root of await around(busy)) working.set(root.id, root);
  const cancelled = (broken ?? []).filter((stack) => isRoot(stack) && isCancelled(stack));
  return { working: [...working.values()], failed: [...failed.values()], cancelled };
}
