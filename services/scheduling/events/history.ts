/** Reads the events of stacks. Skips runs that cannot contain a requested event. */
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import type { Collection } from '@anneal/store/port.ts';
import {
  eventsIn,
  longest,
  numberIn,
  runId,
  shelfOf,
  type EventRun,
  type EventShelf,
  type StoredEvent,
} from './event-runs.ts';

export interface HistoryQuestion {
  readonly stackId: string;
  readonly resource?: string | undefined;
  /** The id of the event after which to continue; the id of another stack's event is ignored. */
  readonly marker?: string | undefined;
  readonly descending: boolean;
  readonly limit?: number | undefined;
}

const mostAtOnce = 64;

export class History {
  readonly #runs: Collection<EventRun>;
  readonly #shelves: Collection<EventShelf>;

  constructor(collections: { events: Collection<EventRun>; shelves: Collection<EventShelf> }) {
    this.#runs = collections.events;
    this.#shelves = collections.shelves;
  }

  async read(question: HistoryQuestion): Promise<StoredEvent[]> {
    const { stackId, resource, marker, descending, limit = Infinity } = question;
    const after = marker === undefined ? undefined : numberIn(stackId, marker);
    const behind = after ?? (descending ? Number.MAX_SAFE_INTEGER : 0);
    const found: StoredEvent[] = [];
    const runs = resource === undefined ? this.#inOrder(question, behind) : this.#ofName(question, resource, behind);
    for await (const run of runs) {
      const events = eventsIn(run).filter(
        ({ sequence, resource_name: name }) =>
          (descending ? sequence < behind : sequence > behind) && (resource === undefined || name === resource),
      );
      found.push(...(descending ? events.reverse() : events));
      if (found.length >= limit) return found.slice(0, limit);
    }
    return found;
  }

  /** All runs in order, or only the runs whose events are all of one resource. */
  async *#inOrder(question: HistoryQuestion, behind: number): AsyncGenerator<EventRun> {
    const { stackId, resource, descending, limit } = question;
    const these = { stack_id: stackId, ...(resource !== undefined && { resource_name: resource }) };
    let first: { lt: number } | { gt: number } = descending ? { lt: behind } : { gt: 0 };
    if (!descending && behind > 0) {
      // The run that contains the marker may contain more events behind it.
      const where = { ...these, first: { lte: behind } };
      const [holder] = await this.#runs.find({ where, orderBy: ['first'], descending: true, limit: 1 });
      if (holder) yield holder;
      first = { gt: holder?.first ?? 0 };
    }
    // Runs may be short. Read the number that suffices when all are full; if that is too few, read four times as many.
    for (let count = Math.min(mostAtOnce, Math.ceil((limit ?? Infinity) / longest)); ; count *= 4) {
      const where = { ...these, first };
      const runs = await this.#runs.find({ where, orderBy: ['first'], descending, limit: count });
      yield* runs;
      const last = runs.at(-1);
      if (!last || runs.length < count) return;
      first = descending ? { lt: last.first } : { gt: last.first };
    }
  }

  /** The runs of one name in order: runs of that name alone, merged with runs that it shares with other names. */
  async *#ofName(question: HistoryQuestion, name: string, behind: number): AsyncGenerator<EventRun> {
    const { stackId, descending } = question;
    const shelves = await this.#shelves.find({ where: { stack_id: stackId, shelf: shelfOf(name) } });
    const firsts = shelves
      .flatMap(({ places }) => places.find(([other]) => other === name)?.[1] ?? [])
      .sort((a, b) => a - b);
    const shared = firsts.filter((first, index) =>
      descending ? first < behind : (firsts[index + 1] ?? Infinity) > behind + 1,
    );
    if (descending) shared.reverse();
    const before = (first: number): number[] => {
      const end = shared.findIndex((other) => (descending ? other < first : other > first));
      return shared.splice(0, end < 0 ? shared.length : end);
    };
    for await (const run of this.#inOrder(question, behind)) {
      yield* this.#at(question, before(run.first));
      yield run;
    }
    yield* this.#at(question, shared);
  }

  async *#at({ stackId, limit = mostAtOnce }: HistoryQuestion, firsts: readonly number[]): AsyncGenerator<EventRun> {
    const count = Math.min(limit, mostAtOnce);
    for (let start = 0; start < firsts.length; start += count) {
      yield* await this.#runs.getMany(firsts.slice(start, start + count).map((first) => runId(stackId, first)));
    }
  }

  /** All events of several stacks, in no order. */
  async all(stackIds: readonly string[], resource: string | undefined): Promise<StoredEvent[]> {
    const runs = await this.#runs.find({ where: { stack_id: { in: stackIds } } });
    const events = (await mapInSlices(runs, eventsIn)).flat();
    return resource === undefined ? events : events.filter(({ resource_name: name }) => name === resource);
  }
}
