/** Costs of the work of a server: the difference between two amounts of work, so what the server does anyway cancels out. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Counts } from '../counted.ts';
import { bytesWrittenBy } from '../server-use.ts';
import { untilIdle } from '../until-idle.ts';

/** A server whose use can be read. */
export interface Metered {
  readonly pid: number;
  use(): Promise<Counts & { readonly cpuMicros: number }>;
  memory(): Promise<number>;
}

/** In the order of the columns. */
export const kinds = {
  cpuMicros: { title: 'processor', unit: 'µs' },
  messages: { title: 'messages', unit: '' },
  events: { title: 'events', unit: '' },
  calls: { title: 'calls', unit: '' },
  storeCalls: { title: 'store calls', unit: '' },
  documentsWritten: { title: 'documents written', unit: '' },
  bytesWritten: { title: 'written', unit: 'bytes' },
  memory: { title: 'memory', unit: 'bytes' },
} as const;
export type CostKind = keyof typeof kinds;
export type Cost = Readonly<Record<CostKind, number>>;

const names = Object.keys(kinds) as CostKind[];
const combine = (of: (kind: CostKind) => number): Cost =>
  Object.fromEntries(names.map((kind) => [kind, of(kind)])) as unknown as Cost;

async function read(server: Metered): Promise<Omit<Cost, 'memory'>> {
  return { ...(await server.use()), bytesWritten: bytesWrittenBy(server.pid) };
}

/** Measures what a settled server uses for the work, and for what the work leaves to be done later. */
export async function spent(server: Metered, work: () => Promise<unknown>): Promise<Cost> {
  const memory = await server.memory();
  const before = await read(server);
  await work();
  await untilIdle(server);
  const after = await read(server);
  const used = { ...after, memory: await server.memory() };
  const start = { ...before, memory };
  return combine((kind) => used[kind] - start[kind]);
}

/**
 * Measures what the server uses in a time in which it is given no work. The cheaper one of two windows, because a late rest of
 * earlier work may be in the first.
 */
export async function spentIdle(server: Metered, seconds: number): Promise<Cost> {
  await untilIdle(server);
  const windows: Cost[] = [];
  let before = await read(server);
  for (let window = 0; window < 2; window += 1) {
    await delay(seconds * 1000);
    const [start, after] = [before, await read(server)];
    windows.push(combine((kind) => (kind === 'memory' ? 0 : after[kind] - start[kind])));
    before = after;
  }
  const [cheapest] = windows.toSorted((one, other) => one.cpuMicros - other.cpuMicros);
  if (!cheapest) throw new Error('There is no window.');
  return cheapest;
}

/** The cost of one of the `count` things that `more` has and `less` has not. */
export const costOfOne = ({ less, more, count }: { less: Cost; more: Cost; count: number }): Cost =>
  combine((kind) => (more[kind] - less[kind]) / count);

/** The cost of one of the `n` things of some work, without what the server uses anyway in such a time. */
export async function costOf(server: Metered, n: number, work: () => Promise<unknown>): Promise<Cost> {
  await untilIdle(server);
  const less = await spent(server, () => Promise.resolve());
  const more = await spent(server, work);
  return costOfOne({ less, more, count: n });
}
