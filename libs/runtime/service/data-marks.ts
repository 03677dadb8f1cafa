/**
 * Notices at a start that one of the two files of an installation has lost its last writes, because the disk lost them, or
 * an operator put back a file alone: work that was answered would be missing, and no error would say so.
 *
 * W1 While messages move, the same number is written to the store and then to the bus, each second. So the store is never
 *    behind the bus, and at most one ahead of it, also after a kill, and in a backup.
 * W2 A difference is reported, and the start goes on: the operator decides whether to restore a backup.
 */
import type { BusMarks } from '@anneal/bus/port.ts';
import { toFailure } from '@anneal/contracts/errors.ts';
import type { WorkPermission } from '@anneal/store/permission.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { Logger } from 'pino';
import { sweepEvery } from '../work/sweeps.ts';

const everyMs = 1_000;
const markId = 'bus and store';

interface MarkDocument extends Document {
  readonly count: number;
  readonly at: string;
}

/** The marks of a running server. */
export interface DataMarks {
  /** Ends after the mark in progress. */
  stop(): Promise<void>;
}

/** The text of a loss that the marks of both files show; undefined when there is none. Pure. */
export function lossIn(marks: { store: number; bus: number; at: string | undefined }): string | undefined {
  const { store, bus, at } = marks;
  const way = 'Compare with a backup, and restore one if work is missing: anneal restore.';
  if (store < bus) {
    const last = at === undefined ? 'it has no mark' : `its last mark is of ${at}`;
    return `store.db is older than bus.db: ${last}, and ${bus - store} later ones are missing. Stacks, hosts and other objects of that time may be gone. ${way}`;
  }
  if (store > bus + 1) {
    return `bus.db is older than store.db: ${store - bus - 1} marks before ${at} are missing. Messages of that time may be gone, so work may stand still. ${way}`;
  }
  return undefined;
}

/** Compares the marks, reports a loss, and then marks both files while messages move. */
export async function openDataMarks(parts: {
  store: Pick<Store, 'collection'>;
  marks: BusMarks;
  permission: WorkPermission;
  now: () => Date;
  log: Logger;
}): Promise<DataMarks> {
  const { store, marks, permission, now, log } = parts;
  const documents = await store.collection<MarkDocument>({ name: 'runtime_marks', indexes: [] });
  const [found, bus] = [await documents.get(markId), await marks.last()];
  let count = found?.count ?? 0;
  const loss = lossIn({ store: count, bus, at: found?.at });
  if (loss !== undefined) log.error({ store: count, bus }, loss);
  count = Math.max(count, bus);
  const mark = async (): Promise<void> => {
    count += 1;
    await markStore(documents, { count, at: now().toISOString() });
    await marks.put(count);
  };
  // Equal marks after a loss, which is reported once.
  if (loss !== undefined) await mark();
  let seen = marks.commits();
  return sweepEvery(everyMs, {
    permission,
    async sweep() {
      if (marks.commits() === seen) return;
      await mark();
      seen = marks.commits();
    },
    onError: (error) => log.warn({ reason: toFailure(error).message }, 'files not marked; trying again in a second'),
  });
}

const markStore = (documents: Collection<MarkDocument>, mark: { count: number; at: string }): Promise<unknown> =>
  documents.bulk([{ kind: 'put', document: { id: markId, ...mark } }]);
