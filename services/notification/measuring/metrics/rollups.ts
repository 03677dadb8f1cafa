/**
 * Hourly measurements: what stays of the blocks that are too old to be kept in full. One document holds a day of one source.
 *
 * R1 A block is first merged into its day, which notes it, and then removed. A repeat after a crash merges nothing twice.
 * R2 A reader that finds a block and its day counts it once.
 */
import type { BulkOperation, Collection, Draft, Store } from '@anneal/store/port.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { blockStart, withBlock, type BlockDocument } from './block.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const atOnce = 500;

const dayStart = (at: number): number => Math.floor(at / dayMs) * dayMs;
const dayId = (source: string, day: number): string => `${source}:${day}`;

export class Rollups {
  readonly #days: Collection<BlockDocument>;

  private constructor(days: Collection<BlockDocument>) {
    this.#days = days;
  }

  static async open(store: Store): Promise<Rollups> {
    return new Rollups(
      await store.collection<BlockDocument>({ name: 'notification_rollups', indexes: [{ fields: ['start'] }] }),
    );
  }

  /** Merges blocks into their days (R1). Resolves when they may be removed. */
  async take(blocks: readonly BlockDocument[]): Promise<void> {
    let left = Map.groupBy(blocks, ({ source, start }) => dayId(source, dayStart(start)));
    while (left.size > 0) {
      const before = new Map((await this.#days.getMany([...left.keys()])).map((day) => [day.id, day]));
      const plans = [...left].flatMap(([id, parts]) => {
        const known = before.get(id);
        const day = parts.reduce<Draft<BlockDocument> | undefined>((draft, block) => {
          const next = withBlock(draft ?? emptyDay(id, block), block);
          return next ?? draft;
        }, known);
        return day && day !== known ? [{ id, parts, operation: operationOf(day, known) }] : [];
      });
      const outcomes = await this.#days.bulk(plans.map(({ operation }) => operation));
      // Another replica was first, so read again.
      left = new Map(plans.flatMap(({ id, parts }, index) => (outcomes[index] === 'done' ? [] : [[id, parts]])));
    }
    await faultPoint('measurements.rolled');
  }

  /** The days of sources, from one time to another. */
  async read(sources: readonly string[], from: number, to: number): Promise<BlockDocument[]> {
    const ids = sources.flatMap((source) => daysOf(from, to).map((day) => dayId(source, day)));
    const found: BlockDocument[] = [];
    for (let start = 0; start < ids.length; start += atOnce) {
      found.push(...(await this.#days.getMany(ids.slice(start, start + atOnce))));
    }
    return found;
  }

  /** Removes the days that ended before a time. */
  async trim(before: number): Promise<void> {
    for (;;) {
      const where = { start: { lt: before - dayMs } };
      const old = await this.#days.find({ where, orderBy: ['start'], limit: atOnce });
      await this.#days.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
      if (old.length < atOnce) return;
    }
  }
}

/** The starts of the days that overlap a time. */
export function daysOf(from: number, to: number): number[] {
  const days: number[] = [];
  for (let day = dayStart(from); day < to; day += dayMs) days.push(day);
  return days;
}

/** Whether a day has the measurements of a block (R2). */
export const holdsBlock = ({ batches }: BlockDocument, start: number): boolean =>
  batches.includes(String(blockStart(start)));

const emptyDay = (id: string, { project, source, start }: BlockDocument): Draft<BlockDocument> => ({
  id,
  project,
  source,
  start: dayStart(start),
  period: hourMs,
  metrics: {},
  batches: [],
});

const operationOf = (document: Draft<BlockDocument>, before: BlockDocument | undefined): BulkOperation<BlockDocument> =>
  before ? { kind: 'replace', document, version: before.version } : { kind: 'insert', document };
