/**
 * Stores measurements as series, and reads them.
 *
 * M1 A batch is acknowledged when all its measurements are stored. A repeat of a batch adds nothing (B1 of `block.ts`).
 * M2 A batch that is refused stores nothing.
 * M3 Batches that arrive while a write runs are written together: one write for each source.
 * M4 Any replica may write any block: each writes over the version that it has read.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Labels, SeriesView } from '@anneal/contracts/calls/measuring.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { Admission, Admit, QuotaLimit } from '@anneal/runtime/service/project-quotas.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { BulkOperation, Collection, Document, Draft, Store } from '@anneal/store/port.ts';
import { blockId, blockMs, blockStart, periodsOf, withBatch, type BlockDocument, type Sample } from './block.ts';
import type { SeriesPeriods } from './aggregate.ts';
import { daysOf, holdsBlock, Rollups } from './rollups.ts';
import { labelsText } from './check.ts';

export interface SeriesDocument extends Document {
  readonly project: string;
  readonly source: string;
  readonly name: string;
  readonly unit: string | null;
  readonly labels: Labels;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  readonly last_at: number;
}

/** A measurement with all its labels. */
export interface Labelled extends Sample {
  readonly unit?: string | undefined;
  readonly labels: Labels;
}

export interface MeasurementOptions {
  readonly store: Store;
  readonly now: () => number;
  /** Milliseconds of a period. */
  readonly period: number;
  readonly keepMs: number;
  /** The age to which an hourly value stays of older measurements; 0: none stays. */
  readonly keepHourlyMs: number;
  /** The most series of a project, and the setting that changes it. */
  readonly limitOf: (project: string) => Promise<QuotaLimit>;
  readonly admit: Admit;
}

/** The part of a batch for one block. */
interface Write {
  readonly block: string;
  readonly batch: string;
  readonly source: string;
  readonly project: string;
  readonly start: number;
  readonly samples: Sample[];
}
interface Waiting {
  readonly writes: readonly Write[];
  readonly resolve: (stored: number) => void;
  readonly reject: (error: unknown) => void;
}

const readAtOnce = 500;
const mostBlocks = 20_000;
const seriesKnown = 100_000;

export class Measurements {
  readonly #series: Collection<SeriesDocument>;
  readonly #blocks: Collection<BlockDocument>;
  readonly #rollups: Rollups;
  readonly #options: MeasurementOptions;
  /** Series in the store, and the start of the latest block for which `last_at` was written. */
  readonly #known = new Recent<number>(seriesKnown);
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor(
    stored: { series: Collection<SeriesDocument>; blocks: Collection<BlockDocument>; rollups: Rollups },
    options: MeasurementOptions,
  ) {
    this.#series = stored.series;
    this.#blocks = stored.blocks;
    this.#rollups = stored.rollups;
    this.#options = options;
  }

  static async open(options: MeasurementOptions): Promise<Measurements> {
    const [series, blocks, rollups] = await Promise.all([
      options.store.collection<SeriesDocument>({
        name: 'notification_series',
        indexes: [{ fields: ['project', 'name'] }, { fields: ['last_at'] }, { fields: ['project', 'last_at'] }],
      }),
      options.store.collection<BlockDocument>({ name: 'notification_measurements', indexes: [{ fields: ['start'] }] }),
      Rollups.open(options.store),
    ]);
    return new Measurements({ series, blocks, rollups }, options);
  }

  /**
   * Stores a batch (M1, M2) and returns the number of measurements that were not stored before.
   * @throws AnnealError QuotaExceeded
   */
  async post(project: string, batch: string, measurements: readonly Labelled[]): Promise<number> {
    await this.#keepSeries(project, measurements);
    await faultPoint('measurements.series');
    const writes = new Map<string, Write>();
    for (const { name, value, at, labels } of measurements) {
      const source = sourceOf(project, labels);
      const start = blockStart(at);
      const block = blockId(source, this.#options.period, start);
      const write = writes.get(block) ?? { block, batch, source, project, start, samples: [] };
      write.samples.push({ name, value, at });
      writes.set(block, write);
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ writes: [...writes.values()], resolve, reject });
    this.#writing ??= this.#writeWaiting().finally(() => (this.#writing = undefined));
    return promise;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batches = this.#waiting.splice(0, 200);
      try {
        const stored = await this.#write(batches);
        batches.forEach(({ resolve }, index) => resolve(stored[index] ?? 0));
      } catch (error) {
        for (const { reject } of batches) reject(error);
      }
    }
  }

  /** Writes every block once (M3). Returns the number of new measurements of each batch. */
  async #write(batches: readonly Waiting[]): Promise<number[]> {
    const stored = batches.map(() => 0);
    const all = batches.flatMap(({ writes }, owner) => writes.map((write) => ({ ...write, owner })));
    let left = Map.groupBy(all, ({ block }) => block);
    while (left.size > 0) {
      const found = new Map((await this.#getBlocks([...left.keys()])).map((block) => [block.id, block]));
      const plans = [...left].flatMap(([id, writes]) => {
        const before = found.get(id);
        const { draft, added } = this.#add(before, writes);
        return added.length > 0 ? [{ id, writes, added, operation: operationOf(draft, before) }] : [];
      });
      const outcomes = await this.#blocks.bulk(plans.map(({ operation }) => operation));
      plans.forEach(({ added }, index) => {
        if (outcomes[index] !== 'done') return;
        for (const { owner, samples } of added) stored[owner] = (stored[owner] ?? 0) + samples.length;
      });
      // M4: another replica was first, so read again.
      left = new Map(plans.flatMap(({ id, writes }, index) => (outcomes[index] === 'done' ? [] : [[id, writes]])));
    }
    return stored;
  }

  /** The block with what the writes add, and those that add something. */
  #add<W extends Write>(before: BlockDocument | undefined, writes: readonly W[]) {
    const [first] = writes;
    const { block: id = '', project = '', source = '', start = 0 } = first ?? {};
    let draft: Draft<BlockDocument> = before ?? {
      id,
      project,
      source,
      start,
      period: this.#options.period,
      metrics: {},
      batches: [],
    };
    const added = writes.filter(({ batch, samples }) => {
      const next = withBatch(draft, { id: batch, samples });
      draft = next ?? draft;
      return next !== undefined;
    });
    return { draft, added };
  }

  /** Inserts the series that are new. A series without a measurement does no harm. */
  async #keepSeries(project: string, measurements: readonly Labelled[]): Promise<void> {
    const wanted = new Map<string, Draft<SeriesDocument>>();
    for (const { name, unit = null, labels, at } of measurements) {
      const source = sourceOf(project, labels);
      const id = seriesId(source, name);
      const before = wanted.get(id);
      const known = this.#known.get(id);
      if (known !== undefined && known >= blockStart(at)) continue;
      const last_at = Math.max(at, before?.last_at ?? 0);
      wanted.set(id, { id, project, source, name, unit, labels, created_at: this.#options.now(), last_at });
    }
    if (wanted.size === 0) return;
    const stored = new Map<string, SeriesDocument>();
    for (const ids of pages([...wanted.keys()])) {
      for (const each of await this.#series.getMany(ids)) stored.set(each.id, each);
    }
    const fresh = [...wanted.values()].filter(({ id }) => !stored.has(id));
    await this.#insertSeries(project, fresh);
    await this.#series.bulk(
      [...stored.values()].flatMap((before): BulkOperation<SeriesDocument>[] => {
        const { last_at = 0 } = wanted.get(before.id) ?? {};
        if (last_at <= before.last_at) return [];
        // When two writers replace it at the same time, either time will do.
        return [{ kind: 'replace', document: { ...before, last_at }, version: before.version }];
      }),
    );
    for (const { id, last_at } of wanted.values()) this.#known.set(id, blockStart(last_at));
  }

  /** How many series a project has. */
  countOf(project: string): Promise<number> {
    return this.#series.count({ project });
  }

  async #insertSeries(project: string, fresh: readonly Draft<SeriesDocument>[]): Promise<void> {
    if (fresh.length === 0) return;
    await this.#makeRoom(project, fresh.length);
    const admission: Admission = {
      wanted: fresh.length,
      count: () => this.countOf(project),
      refusal: ({ there, limit: { most, setting } }) => {
        const named = fresh.slice(0, 10).map(({ name, labels }) => `${name}${textOfLabels(labels)}`);
        const more = fresh.length > named.length ? ` and ${fresh.length - named.length} more` : '';
        return new AnnealError(
          'QuotaExceeded',
          `Cannot store the measurements: the project has ${there} of at most ${most} series (${setting}), and these would be new: ${named.join(', ')}${more}. Use fewer labels or values of labels.`,
        );
      },
    };
    await this.#options.admit(project, admission, () =>
      this.#series.bulk(fresh.map((document) => ({ kind: 'insert', document }))),
    );
  }

  async #makeRoom(project: string, wanted: number): Promise<void> {
    const { most } = await this.#options.limitOf(project);
    const over = (await this.countOf(project)) + wanted - most;
    if (over > 0) await this.#dropEnded(project, over);
  }

  /** Removes series of which only hourly values are left, the oldest first: they make room for new ones. */
  async #dropEnded(project: string, most: number): Promise<void> {
    const where = { project, last_at: { lt: this.#keptFrom() } };
    const ended = await this.#series.find({ where, orderBy: ['last_at'], limit: most });
    await this.#removeSeries(ended);
  }

  async #removeSeries(ended: readonly SeriesDocument[]): Promise<void> {
    await this.#series.bulk(ended.map(({ id, version }) => ({ kind: 'remove', id, version })));
    for (const { id } of ended) this.#known.delete(id);
  }

  /** Blocks that begin before are too old. */
  #keptFrom(): number {
    return this.#options.now() - this.#options.keepMs - blockMs;
  }

  /** The series of a project that match, by name and id. */
  async find(query: {
    project: string;
    name?: string | undefined;
    matches?: (labels: Labels) => boolean;
    limit?: number;
  }): Promise<SeriesDocument[]> {
    const { project, name, matches = () => true, limit } = query;
    const where = name === undefined ? { project } : { project, name };
    const found = (await this.#series.find({ where })).filter(({ labels }) => matches(labels));
    return limit === undefined ? found : found.toSorted(byNameAndLabels).slice(0, limit);
  }

  /**
   * The periods of series from one time to another, which is exclusive. `hourly`: those of measurements that are too old to
   * be kept in full are hours.
   * @throws AnnealError InvalidRequest for a time so long that it would read too much
   */
  async read(
    series: readonly SeriesDocument[],
    { from, to, hourly }: { from: number; to: number; hourly: boolean },
  ): Promise<Map<string, SeriesPeriods>> {
    const starts: number[] = [];
    // The roll-up of a block is late by up to five minutes.
    const first = blockStart(Math.max(from, this.#keptFrom() - 2 * blockMs));
    for (let start = first; start < to && starts.length <= mostBlocks; start += blockMs) starts.push(start);
    const sources = [...new Set(series.map(({ source }) => source))];
    const old =
      hourly && from < this.#keptFrom() + blockMs ? { from, to: Math.min(to, first + 3 * blockMs) } : undefined;
    if ((starts.length + (old ? daysOf(old.from, old.to).length : 0)) * sources.length > mostBlocks) {
      throw new AnnealError(
        'InvalidRequest',
        `Cannot read ${sources.length} sources over ${Math.round((to - from) / 1000)} s at once. Ask for a shorter time or for fewer labels.`,
      );
    }
    const { period } = this.#options;
    const ids = sources.flatMap((source) => starts.map((start) => blockId(source, period, start)));
    // Read the blocks first: one that is rolled up meanwhile is then in its day, too, and counts once.
    const bySource = Map.groupBy(await this.#getBlocks(ids), ({ source }) => source);
    const days = old ? await this.#rollups.read(sources, old.from, old.to) : [];
    const daysBySource = Map.groupBy(days, ({ source }) => source);
    return new Map(
      series.map(({ id, source, name }) => {
        const rolled = daysBySource.get(source) ?? [];
        const blocks = (bySource.get(source) ?? [])
          .filter(({ start }) => !rolled.some((day) => holdsBlock(day, start)))
          .toSorted((a, b) => a.start - b.start);
        const periods = [...rolled, ...blocks].flatMap((block) => periodsOf(block, name));
        return [id, periods.filter(([start]) => start >= from && start < to)];
      }),
    );
  }

  async #getBlocks(ids: readonly string[]): Promise<BlockDocument[]> {
    const found: BlockDocument[] = [];
    for (const page of pages(ids)) found.push(...(await this.#blocks.getMany(page)));
    return found;
  }

  /** Rolls up measurements that are too old, and removes them and series. A repeat continues. */
  async trim(): Promise<void> {
    const { now, keepMs, keepHourlyMs } = this.#options;
    for (;;) {
      const where = { start: { lt: this.#keptFrom() } };
      const old = await this.#blocks.find({ where, orderBy: ['start'], limit: readAtOnce });
      if (keepHourlyMs > keepMs) await this.#rollups.take(old);
      await this.#blocks.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
      if (old.length < readAtOnce) break;
    }
    await this.#rollups.trim(now() - keepHourlyMs);
    for (;;) {
      const where = { last_at: { lt: now() - Math.max(keepMs, keepHourlyMs) - 2 * blockMs } };
      const old = await this.#series.find({ where, orderBy: ['last_at'], limit: readAtOnce });
      await this.#removeSeries(old);
      if (old.length < readAtOnce) break;
    }
  }
}

const byNameAndLabels = (a: SeriesDocument, b: SeriesDocument): number =>
  `${a.name} ${labelsText(a.labels)}` < `${b.name} ${labelsText(b.labels)}` ? -1 : 1;

const operationOf = (document: Draft<BlockDocument>, before: BlockDocument | undefined): BulkOperation<BlockDocument> =>
  before ? { kind: 'replace', document, version: before.version } : { kind: 'insert', document };

function* pages(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += readAtOnce) yield ids.slice(from, from + readAtOnce);
}

const sourceOf = (project: string, labels: Labels): string => derivedId(`source\n${project}\n${labelsText(labels)}`);
const seriesId = (source: string, name: string): string => derivedId(`series\n${source}\n${name}`);

const textOfLabels = (labels: Labels): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}}`;

export const viewOfSeries = ({ id, name, unit, labels, created_at, last_at }: SeriesDocument): SeriesView => ({
  id,
  name,
  unit,
  labels: { ...labels },
  created_at: new Date(created_at).toISOString(),
  last_at: new Date(last_at).toISOString(),
});
