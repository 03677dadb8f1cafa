/**
 * Keeps the number of shards, and lets it grow while stacks are in progress. The store has the number. A greater number
 * in the settings of any replica makes it grow, to a multiple of the old number.
 *
 * S1 A stack of shard `n` goes to shard `hash mod count`, which is `n` again or a new shard. All stacks of `n` go at
 *    one moment: when the owner of `n` has moved their stored records, and has marked `n` as moved.
 * S2 Until then only the owner of `n` processes their messages. From then on it forwards the messages of stacks that
 *    left, and never processes them again.
 * S3 The owner of a new shard processes no message before the shard that its stacks come from has moved.
 * S4 A replica that learns of the growth late sends to the old shard of a stack, which forwards. That is slower, but
 *    correct.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { change, insertOnce } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { SchedulingCollections, ShardsDocument } from '../collections.ts';
import { shardOf } from './shard-of.ts';

export interface Shards {
  readonly count: number;
  /** The shard that currently processes the messages of a stack. */
  of(stackId: string): number;
  queueOf(stackId: string): string;
  /**
   * Resolves when the owner may process the stacks of the shard. The owner calls it first; `move` moves the stacks.
   * @throws AnnealError Unavailable when the service stops before.
   */
  enter(shard: number, move: () => Promise<void>): Promise<void>;
  /** Calls back when the number has grown. */
  watch(onGrowth: () => void): void;
  stop(): void;
}

/** For new systems. */
const defaultCount = 64;
/** For systems from a release that did not store the number. */
const firstCount = 8;
const id = 'shards';
const lookMs = 3_000;
const defaultRetryMs = 250;

type Log = { info(facts: object, text: string): void; warn(facts: object, text: string): void };

/** @throws AnnealError InvalidRequest for a wanted number that is no multiple of the current number. */
export async function openShards(options: {
  collection: Collection<ShardsDocument>;
  journal: SchedulingCollections['journal'];
  /** The number in the settings. */
  wanted: number | undefined;
  log: Log;
  /** The wait before a shard that could not be entered is tried again. Default 250 ms. */
  retryMs?: number;
}): Promise<Shards> {
  const { collection, log, retryMs = defaultRetryMs } = options;
  let document = await grown(options);
  let timer: NodeJS.Timeout | undefined;
  const stopped = new AbortController();
  const isMoving = (): boolean => document.moved.length < document.previous;

  const refresh = async (): Promise<void> => {
    document = (await collection.get(id)) ?? document;
  };
  const of = (stackId: string): number => {
    const { count, previous, moved } = document;
    const before = shardOf(stackId, previous);
    return isMoving() && !moved.includes(before) ? before : shardOf(stackId, count);
  };
  const mark = async (shard: number): Promise<void> => {
    const marked = await change(collection, id, (current) =>
      current.moved.includes(shard) ? undefined : { ...current, moved: [...current.moved, shard] },
    );
    document = marked.document ?? document;
    if (marked.changed && !isMoving()) {
      log.info({ shards: document.count }, 'all stacks have moved to their new shards');
    }
  };
  /** Whether the owner may process the shard. */
  const entered = async (shard: number, move: () => Promise<void>): Promise<boolean> => {
    await refresh();
    const { previous, moved } = document;
    if (!isMoving()) return true;
    if (shard >= previous) return moved.includes(shard % previous);
    if (moved.includes(shard)) return true;
    await move();
    await mark(shard);
    return true;
  };

  return {
    get count() {
      return document.count;
    },
    of,
    queueOf: (stackId) => shardQueue(of(stackId)),
    async enter(shard, move) {
      while (!stopped.signal.aborted) {
        try {
          if (await entered(shard, move)) return;
        } catch (error) {
          log.warn({ err: error, shard }, 'stacks of a shard not read or moved; retrying');
        }
        await delay(retryMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
      }
      throw new AnnealError('Unavailable', 'The service is stopping.');
    },
    watch(onGrowth) {
      const look = async (): Promise<void> => {
        const { count } = document;
        await refresh().catch(() => undefined);
        if (document.count > count) onGrowth();
      };
      timer = setInterval(() => void look(), lookMs);
      timer.unref();
    },
    stop() {
      clearInterval(timer);
      stopped.abort();
    },
  };
}

/** Returns the document, after creating it or growing it to the wanted number. */
async function grown(options: Parameters<typeof openShards>[0]): Promise<ShardsDocument> {
  const { collection, wanted, log } = options;
  for (;;) {
    const found = (await collection.get(id)) ?? (await first(options));
    if (!found || wanted === undefined || wanted === found.count) {
      if (found) return found;
      continue;
    }
    const { count, previous, moved, version } = found;
    if (wanted < count) {
      log.warn(
        { shards: count, wanted },
        'number of shards not reduced, because it can only grow; keeping the greater number in the store',
      );
      return found;
    }
    if (wanted % count !== 0) {
      throw new AnnealError(
        'InvalidRequest',
        `ANNEAL_SCHEDULING_SHARDS must be a multiple of ${count}, the present number of shards, e.g. ${count * 2}; it is ${wanted}.`,
      );
    }
    if (moved.length < previous) {
      log.warn(
        { shards: count, wanted },
        'number of shards not changed, because stacks still move to their shards; restart later to grow',
      );
      return found;
    }
    const grew = await collection.replace({ id, count: wanted, previous: count, moved: [] }, version);
    if (!grew) continue;
    log.info({ from: count, to: wanted }, 'number of shards grows; stacks move to their new shards');
    return grew;
  }
}

/** Creates the document. Returns undefined when another replica was first. */
async function first({ collection, journal, wanted }: Parameters<typeof openShards>[0]) {
  const known = await Promise.all([true, false].map((open) => journal.find({ where: { open }, limit: 1 })));
  const count = wanted ?? (known.flat().length > 0 ? firstCount : defaultCount);
  const moved = Array.from({ length: count }, (_, shard) => shard);
  return insertOnce(collection, { id, count, previous: count, moved });
}

/**
 * Moves the stored records and held requests of a shard to the shards that their stacks belong to after a growth. Safe
 * to repeat. The caller makes sure that no step of these stacks runs, in this process or in another.
 */
export async function moveStacks(
  { journal, held }: Pick<SchedulingCollections, 'journal' | 'held'>,
  { shard, count }: { shard: number; count: number },
): Promise<void> {
  // Move open records only, because recovery finds them by shard. The next owner overwrites a closed record.
  const open = await journal.find({ where: { open: true, shard } });
  await journal.bulk(
    open
      .filter((record) => shardOf(record.id, count) !== shard)
      .map(({ version, ...record }) => ({
        kind: 'replace',
        document: { ...record, shard: shardOf(record.id, count) },
        version,
      })),
  );
  const waiting = await held.find({ where: { shard } });
  await held.bulk(
    waiting
      .filter((request) => shardOf(request.stack, count) !== shard)
      .map(({ version, ...request }) => ({
        kind: 'replace',
        document: { ...request, shard: shardOf(request.stack, count) },
        version,
      })),
  );
}
