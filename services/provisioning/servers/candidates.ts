/**
 * The nodes that servers may claim, shared by all servers that ask at the same time.
 *
 * C1 A list is kept for `freshMs`, and for longer when its reading takes long, so that reading takes a tenth of the time at
 *    most. The claim checks the current version of the node again, so an old list costs an attempt and never gives a
 *    node away twice.
 * C2 Two servers of this process never try the same node with the same list, because only one of them can win. The list
 *    shows a node that a server took as its own, so that placement spreads servers that are placed at the same time.
 */
import type { Origin } from '@anneal/contracts/origin.ts';
import type { NodeDocument } from '../documents/node.ts';

/** The server that took a node. */
interface Taker {
  readonly instance_id: string;
  readonly origin: Origin | null;
}

const freshMs = 250;
/** C1. A list of thousands of nodes takes some tenths of a second to read. */
const freshForReadings = 10;

export class Candidates {
  readonly #read: () => Promise<NodeDocument[]>;
  readonly #now: () => number;
  #list: Promise<NodeDocument[]> | undefined;
  #freshUntil = -Infinity;
  #taken = new Map<string, Taker>();

  /** @param now milliseconds of a clock that never goes back. */
  constructor(read: () => Promise<NodeDocument[]>, now: () => number = () => performance.now()) {
    this.#read = read;
    this.#now = now;
  }

  /** All nodes. Those that servers of this process have taken since the list was read belong to these servers. */
  async recent(): Promise<NodeDocument[]> {
    if (this.#list === undefined || this.#now() > this.#freshUntil) this.#list = this.#readList();
    const list = await this.#list;
    const taken = this.#taken;
    if (taken.size === 0) return list;
    return list.map((node) => {
      const taker = taken.get(node.id);
      return taker ? { ...node, ...taker } : node;
    });
  }

  async #readList(): Promise<NodeDocument[]> {
    const start = this.#now();
    // For servers that ask during the reading.
    this.#freshUntil = Infinity;
    // C2. A claim that ends during the reading counts for the new list.
    this.#taken = new Map();
    try {
      const list = await this.#read();
      const keptMs = Math.max(freshMs, freshForReadings * (this.#now() - start));
      this.#freshUntil = this.#now() + keptMs;
      // Thousands of nodes stay in memory no longer than they are used.
      const reading = this.#list;
      const forget = (): void => {
        if (this.#list === reading) this.#list = undefined;
      };
      setTimeout(forget, keptMs).unref();
      return list;
    } catch (error) {
      this.#list = undefined;
      throw error;
    }
  }

  /** C2. False when another server of this process has taken the node from this list. */
  take(id: string, taker: Taker): boolean {
    if (this.#taken.has(id)) return false;
    this.#taken.set(id, taker);
    return true;
  }
}
