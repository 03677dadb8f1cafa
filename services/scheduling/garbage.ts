/**
 * Removes the contents (templates, environments, files, plans) that no stack needs any more.
 *
 * K1 The record of a step lists the contents that the stack stops using, so that a crash does not lose the list.
 * K2 Stacks share contents by hash. Before a content is removed, all stacks, snapshots and revisions are read, and none
 *    names it.
 * K3 A writer puts a content just before it uses it, and a content that was put recently is never removed. So no
 *    content disappears between its writing and the stack that names it.
 */
import type { StackDocument, Target } from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { SchedulingCollections } from './collections.ts';
import { fromKept } from './groups/kept.ts';
import type { RevisionDocument } from './documents/revisions.ts';
import type { SnapshotDocument } from './documents/snapshots.ts';

const page = 200;
const mostAtOnce = 500;

const hashesOf = ({
  plan,
  template,
  environment,
  files,
  sources,
}: Pick<Target, 'plan' | 'template' | 'environment' | 'files' | 'sources'>) =>
  [plan, template, environment, files, sources].filter((hash) => hash !== undefined);

/** The hashes that a stack needs. A deleted stack needs none. */
function neededBy({ target, complete, group, deleted_at: deleted }: StackDocument): string[] {
  if (deleted !== null) return [];
  const kept = fromKept(group);
  return [
    ...hashesOf(target),
    ...(complete ? hashesOf(complete) : []),
    ...(kept ? [kept.environment, kept.files] : []),
  ];
}

/** The hashes that a stack stops using in a step. */
export function letGo(before: StackDocument, after: StackDocument): string[] {
  if (before.target === after.target && before.complete === after.complete && before.deleted_at === after.deleted_at)
    return [];
  const needed = new Set(neededBy(after));
  return [...new Set(neededBy(before))].filter((hash) => hash !== '' && !needed.has(hash));
}

export interface Garbage {
  /** Sweeps once. Returns the number of removed contents. */
  sweep(): Promise<number>;
  stop(): Promise<void>;
}

export function createGarbage(parameters: {
  context: Pick<ServiceContext, 'bus' | 'store' | 'log' | 'now'>;
  collections: SchedulingCollections;
  graceMs: number;
}): Garbage {
  const { context, collections, graceMs } = parameters;
  const { garbage, stacks, snapshots, revisions } = collections;

  /** Returns the hashes that a document of the collection still needs. */
  const spare = async <T extends Document>(
    collection: Collection<T>,
    needs: (document: T) => readonly string[],
    hashes: Set<string>,
  ): Promise<Set<string>> => {
    const spared = new Set<string>();
    for (let after = ''; hashes.size > spared.size;) {
      const found = await collection.find({ where: { id: { gt: after } }, orderBy: ['id'], limit: page });
      for (const document of found) for (const hash of needs(document)) if (hashes.has(hash)) spared.add(hash);
      const last = found.at(-1);
      if (!last || found.length < page) break;
      after = last.id;
      // Let other work run between two pages.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return spared;
  };

  const sweep = async (): Promise<number> => {
    const before = context.now().getTime() - graceMs;
    const due = await garbage.find({ where: { since: { lte: before } }, orderBy: ['since'], limit: mostAtOnce });
    if (due.length === 0) return 0;
    const hashes = new Set(due.map(({ id }) => id));
    const used = await spare(stacks, neededBy, hashes);
    for (const hash of used) hashes.delete(hash);
    const inSnapshots = await spare<SnapshotDocument>(snapshots, ({ target }) => hashesOf(target), hashes);
    for (const hash of inSnapshots) hashes.delete(hash);
    const inRevisions = await spare<RevisionDocument>(revisions, ({ target }) => hashesOf(target), hashes);
    for (const hash of inRevisions) hashes.delete(hash);
    const removed = await context.store.blobs.remove([...hashes], before);
    const now = context.now().getTime();
    await garbage.bulk(
      due.map(({ id, version }) =>
        // The removal of a snapshot or a revision leaves no note here, so its contents are checked again later.
        inSnapshots.has(id) || inRevisions.has(id)
          ? { kind: 'replace', document: { id, since: now }, version }
          : { kind: 'remove', id, version },
      ),
    );
    return removed;
  };

  const sweeps = sweepEvery(Math.min(60_000, Math.max(100, graceMs)), {
    permission: context.bus.permission,
    sweep,
    onError: (error) => context.log.warn({ err: error }, 'unused contents not removed; retrying in a minute'),
  });
  return { sweep, stop: () => sweeps.stop() };
}
