/** Reads the events of stacks, and no run of them in which none can be that is asked for. */
import type { Collection } from '@anneal/store/port.ts';
import {
  eventsIn,
  longest,
  numberIn,
  runId,
  shelfOf,
  type EventRun,
  type EventShelf,
  type KeptEvent,
} from './event-runs.ts';

export interface HistoryQuestion {
  readonly stackId: string;
  readonly resource?: string | undefined;
  /** The id of the event behind which to go on; one of another stack is ignored. */
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

  async read(question: HistoryQuestion): Promise<KeptEvent[]> {
    const { stackId, resource, marker, descending, limit = Infinity } = question;
    const after = marker === undefined ? undefined : numberIn(stackId, marker);
    const behind = after ?? (descending ? Number.MAX_SAFE_INTEGER : 0);
    const found: KeptEvent[] = [];
    const runs = resource === undefined ? this.#byNumber(question, behind) : this.#byName(question, resource, behind);
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

  async *#byNumber({ stackId, descending, limit }: HistoryQuestion, behind: number): AsyncGenerator<EventRun> {
    let first: { lt: number } | { gt: number } = descending ? { lt: behind } : { gt: 0 };
    if (!descending && behind > 0) {
      // The one in which it is may have more behind it.
      const where = { stack_id: stackId, first: { lte: behind } };
      const [holder] = await this.#runs.find({ where, orderBy: ['first'], descending: true, limit: 1 });
      if (holder) yield holder;
      first = { gt: holder?.first ?? 0 };
    }
    // Runs may be short: if those that would do were too few, twice as many are next.
    for (let count = limit === undefined ? mostAtOnce : Math.ceil(limit / longest); ; count *= 2) {
      const where = { stack_id: stackId, first };
      const runs = await this.#runs.find({ where, orderBy: ['first'], descending, limit: count });
      yield* runs;
      const last = runs.at(-1);
      if (!last || runs.length < count) return;
      first = descending ? { lt: last.first } : { gt: last.first };
    }
  }

  async *#byName({ stackId, descending }: HistoryQuestion, name: string, behind: number): AsyncGenerator<EventRun> {
    const [own, listed] = await Promise.all([
      this.#runs.find({ where: { stack_id: stackId, resource_name: name }, orderBy: ['first'] }),
      this.#shelves.find({ where: { stack_id: stackId, shelf: shelfOf(name) } }),
    ]);
    const known = new Map(own.map((run) => [run.first, run]));
    const places = listed.flatMap((shelf) => shelf.places.find(([other]) => other === name)?.[1] ?? []);
    const firsts = [...new Set([...known.keys(), ...places])].sort((a, b) => a - b);
    const wanted = firsts.filter((first, index) =>
      descending ? first < behind : (firsts[index + 1] ?? Infinity) > behind + 1,
    );
    if (descending) wanted.reverse();
    for (let start = 0; start < wanted.length; start += mostAtOnce) {
      const some = wanted.slice(start, start + mostAtOnce);
      const missing = some.filter((first) => !known.has(first)).map((first) => runId(stackId, first));
      for (const run of await this.#runs.getMany(missing)) known.set(run.first, run);
      for (const first of some) {
        const run = known.get(first);
        if (run) yield run;
        known.delete(first);
      }
    }
  }

  /** Of several stacks, in no order. */
  async all(stackIds: readonly string[], resource: string | undefined): Promise<KeptEvent[]> {
    const runs = await this.#runs.find({ where: { stack_id: { in: stackIds } } });
    const events = runs.flatMap(eventsIn);
    return resource === undefined ? events : events.filter(({ resource_name: name }) => name === resource);
  }
}
