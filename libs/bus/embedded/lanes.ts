/** The lanes by name, and the events that each listens to. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { groupQueue } from '../broker.ts';
import { matcherOf, type Matcher } from '../pattern.ts';
import type { Database, StoredQueue } from './database.ts';
import { Lane } from './lane.ts';

/**
 * Finds and opens lanes.
 * @throws AnnealError InvalidRequest for a queue without a name
 */
export class Lanes {
  readonly #database: Database;
  readonly #byName = new Map<string, Lane>();
  readonly #listeners = new Map<Lane, { readonly patterns: string; readonly matches: Matcher }>();
  /** Event types are few, so each is matched only once. */
  readonly #listening = new Map<string, Lane[]>();

  constructor(database: Database) {
    this.#database = database;
    this.restore();
  }

  /** Reads the lanes from the rows: at the start, and after a failed commit, which undoes its changes here too. */
  restore(): void {
    const rows = this.#database.all('SELECT id, name, grouped, patterns FROM queues') as unknown as StoredQueue[];
    const names = new Set(rows.map(({ name }) => name));
    for (const lane of this.#byName.values()) if (!names.has(lane.name)) this.remove(lane);
    for (const lane of this.#listeners.keys()) if (lane.members.length === 0) this.#forget(lane);
    for (const row of rows) {
      const present = this.#byName.get(row.name);
      const lane = present ?? new Lane({ name: row.name, id: row.id, ordered: row.grouped === 1 });
      this.#byName.set(row.name, lane);
      if (row.patterns === null) this.#forget(lane);
      else this.#listen(lane, JSON.parse(row.patterns) as string[]);
    }
  }

  all(): Iterable<Lane> {
    return new Set([...this.#byName.values(), ...this.#listeners.keys()]);
  }

  find(name: string): Lane | undefined {
    return this.#byName.get(name);
  }

  open(name: string, grouped = false): Lane {
    const there = this.#byName.get(name);
    if (there) return there;
    if (name === '') throw new AnnealError('InvalidRequest', 'A queue must have a name.');
    this.#database.write(
      'INSERT INTO queues (name, grouped) VALUES (?, ?) ON CONFLICT DO NOTHING',
      name,
      Number(grouped),
    );
    const id = Number(this.#database.get('SELECT id FROM queues WHERE name = ?', name)?.['id']);
    const lane = new Lane({ name, id, ordered: grouped });
    this.#byName.set(name, lane);
    return lane;
  }

  openGroup(group: string, patterns: readonly string[]): Lane {
    const name = groupQueue(group);
    const lane = this.open(name, true);
    const wanted = JSON.stringify([...new Set(patterns)].sort());
    const present = this.#listeners.get(lane)?.patterns;
    if (present === wanted) return lane;
    // The members share one queue: with other patterns, a member would get events that only another asked for.
    if (present !== undefined && lane.members.length > 0) {
      throw new AnnealError(
        'Defect',
        `Cannot join group ${group} with ${wanted}: the group subscribes to ${present}. Use another group name.`,
      );
    }
    this.#database.write('UPDATE queues SET patterns = ? WHERE id = ?', wanted, lane.id ?? 0);
    this.#listen(lane, JSON.parse(wanted) as string[]);
    return lane;
  }

  /** Opens a listener without a group: nothing remains when it stops listening. */
  openListener(patterns: readonly string[]): Lane {
    const lane = new Lane({ name: `events of ${patterns.join(', ')}`, id: undefined, ordered: true });
    this.#listen(lane, patterns);
    return lane;
  }

  /** Called when the lane has no consumer any more. */
  rest(lane: Lane): void {
    if (lane.id === undefined) this.#forget(lane);
    else lane.reset();
  }

  remove(lane: Lane): void {
    this.#byName.delete(lane.name);
    this.#forget(lane);
  }

  listening(type: string): readonly Lane[] {
    const known = this.#listening.get(type);
    if (known) return known;
    const lanes = [...this.#listeners].filter(([, { matches }]) => matches(type)).map(([lane]) => lane);
    this.#listening.set(type, lanes);
    return lanes;
  }

  #listen(lane: Lane, patterns: readonly string[]): void {
    this.#listeners.set(lane, { patterns: JSON.stringify(patterns), matches: matcherOf(patterns) });
    this.#listening.clear();
  }

  #forget(lane: Lane): void {
    this.#listeners.delete(lane);
    this.#listening.clear();
  }
}
