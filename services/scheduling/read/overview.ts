/** The stacks of a project at a glance: how many are in which state, and why some need a look. */
import type { StackAttention, stackOverview, stackWhy } from '@anneal/contracts/calls/scheduling.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';

type Question = z.infer<(typeof stackOverview)['data']>;
type Overview = z.infer<(typeof stackOverview)['answer']>;
type Why = (question: z.infer<(typeof stackWhy)['data']>) => Promise<z.infer<(typeof stackWhy)['answer']>>;

const pageSize = 1000;

/**
 * Reads every root stack of a project, and explains `most` of those in progress and `most` of those that failed, in
 * themselves or in a nested stack.
 */
export const createOverview =
  ({ collections, why }: { collections: Pick<SchedulingCollections, 'stacks'>; why: Why }) =>
  async ({ project, most }: Question): Promise<Overview> => {
    const counts: Record<string, number> = {};
    const working: StackDocument[] = [];
    const failed: StackDocument[] = [];
    const inside = await rootsOfBusy(collections.stacks, project);
    for await (const stack of rootStacks(collections.stacks, project)) {
      const state = `${stack.action}_${stack.status}`;
      counts[state] = (counts[state] ?? 0) + 1;
      if (stack.status === 'FAILED' || stack.phase === 'paused') failed.push(stack);
      else if (stack.status === 'IN_PROGRESS') working.push(stack);
      else if (inside.failed.has(stack.id)) failed.push(stack);
      else if (inside.working.has(stack.id)) working.push(stack);
    }
    const explained = (stacks: readonly StackDocument[]): Promise<StackAttention[]> =>
      Promise.all(
        stacks.slice(0, most).map(async (stack) => ({
          id: stack.id,
          name: stack.name,
          action: stack.action,
          status: stack.status,
          paused: stack.phase === 'paused',
          since: sinceOf(stack),
          why: await why({ project, stack: stack.id }),
        })),
      );
    return {
      counts,
      working: await explained(working.toSorted((a, b) => sinceOf(a).localeCompare(sinceOf(b)))),
      failed: await explained(failed.toSorted((a, b) => sinceOf(b).localeCompare(sinceOf(a)))),
    };
  };

/** The roots with a nested stack that works or has failed by itself, as a group does that scales. */
async function rootsOfBusy(
  stacks: SchedulingCollections['stacks'],
  project: string,
): Promise<{ working: ReadonlySet<string>; failed: ReadonlySet<string> }> {
  const rootsWith = async (status: StackDocument['status']): Promise<ReadonlySet<string>> => {
    const found = await stacks.find({ where: { project, status } });
    return new Set(found.flatMap(({ root, depth, deleted_at: gone }) => (depth > 0 && gone === null ? [root] : [])));
  };
  const [working, failed] = await Promise.all([rootsWith('IN_PROGRESS'), rootsWith('FAILED')]);
  return { working, failed };
}

async function* rootStacks(stacks: SchedulingCollections['stacks'], project: string): AsyncGenerator<StackDocument> {
  for (let after: string | undefined; ;) {
    const page = await stacks.find({
      where: { project, deleted_at: null, depth: 0, ...(after !== undefined && { id: { gt: after } }) },
      orderBy: ['id'],
      limit: pageSize,
    });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < pageSize) return;
  }
}

const sinceOf = ({ updated_at, created_at }: StackDocument): string => updated_at ?? created_at;
