/** The conformance of claim checks: the data of a large message is there for as long as a message needs it, and no longer. */
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClaimChecks, type ClaimCheckDocument } from '../send/claim-checks.ts';
import type { Bus, ConsumeOptions } from '../port.ts';
import { happened, mintTestMessage, silent, work } from './messages.ts';
import type { BusHarness } from './harness.ts';

const q = 'test.q';
const keepMs = 3_600_000;
const large = 'x'.repeat(300_000);

/** Registers the tests of large messages for an adapter. */
export function claimCheckConformance(name: string, harness: BusHarness): void {
  describe(`claim checks on ${name}`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    let bus: Bus;
    let store: Store;
    let checks: Collection<ClaimCheckDocument>;
    beforeEach(async () => {
      place = await harness.fresh();
      ({ bus } = await harness.open(place));
      store = await openStore({ url: place.storeUrl });
      checks = await store.collection<ClaimCheckDocument>({
        name: 'bus_claim_checks',
        indexes: [{ fields: ['due'] }, { fields: ['blob'] }],
      });
    });
    afterEach(async () => {
      await bus.close();
      await store.close();
      await place.dispose();
    });

    let hours = 0;
    beforeEach(() => {
      hours = 0;
    });
    /** Sweeps as a process does whose clock has advanced by so many more hours. */
    const sweepAfter = async (more: number): Promise<number> => {
      hours += more;
      const now = (): number => Date.now() + hours * 3_600_000;
      const { queues, deadLetters } = bus;
      const sweeper = createClaimChecks({ store, queues, deadLetters, log: silent, keepMs, now });
      const removed = await sweeper.sweep();
      await sweeper.stop();
      return removed;
    };
    const send = (n = 1): Promise<void> =>
      bus.send({ queue: q, messages: [mintTestMessage(work, { data: { n, text: large } })] });
    const records = (): Promise<ClaimCheckDocument[]> => checks.find({ where: { due: { gte: 0 } }, orderBy: ['due'] });
    /** The blob of the only record, and whether it exists. */
    const blobOf = async (): Promise<string> => {
      const [record, ...others] = await records();
      expect(others).toEqual([]);
      return record?.blob ?? '';
    };
    const isThere = async (blob: string): Promise<boolean> => (await store.blobs.get(blob)) !== undefined;
    const noted = (fits: (record: ClaimCheckDocument) => boolean): Promise<void> =>
      vi.waitFor(async () => expect((await records()).filter(fits)).toHaveLength(1));
    const seenBy = async (options: ConsumeOptions = {}) => {
      const seen: string[] = [];
      await bus.consume(q, async ({ message }) => void seen.push((message.data as { text: string }).text), options);
      return seen;
    };

    it('K2: the data of a message is removed a while after it was handled', async () => {
      const seen = await seenBy();
      await send();
      await vi.waitFor(() => expect(seen).toEqual([large]));
      const blob = await blobOf();
      await noted(({ done_at: at }) => at !== null);
      expect(await sweepAfter(0.5)).toBe(0);
      expect(await isThere(blob)).toBe(true);
      expect(await sweepAfter(1)).toBe(1);
      expect([await isThere(blob), await records()]).toEqual([false, []]);
    });

    it('K1, K5: a message that waits keeps its data, however long', async () => {
      await bus.queues.declare(q);
      await send();
      const blob = await blobOf();
      for (const more of [25, 100, 1000]) expect(await sweepAfter(more)).toBe(0);
      expect(await isThere(blob)).toBe(true);
      const seen = await seenBy();
      await vi.waitFor(() => expect(seen).toEqual([large]));
    });

    it('K1: the data of a message whose sender died before the broker had it is removed', async () => {
      await bus.queues.declare(q);
      const { queues, deadLetters } = bus;
      const sender = createClaimChecks({ store, queues, deadLetters, log: silent, keepMs });
      const message = mintTestMessage(work, { data: { n: 1, text: large } });
      const blob = await sender.keep(message, JSON.stringify(message.data), { kind: 'queue', queue: q });
      await sender.stop();
      expect(await blobOf()).toBe(blob);
      expect([await sweepAfter(23), await sweepAfter(2), await isThere(blob)]).toEqual([0, 0, true]);
      expect([await sweepAfter(2), await isThere(blob), await records()]).toEqual([1, false, []]);
    });

    it('K5: the data of a message that was purged is removed', async () => {
      await bus.queues.declare(q);
      await send();
      const blob = await blobOf();
      expect(await bus.queues.purge(q)).toBe(1);
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 0 }));
      expect(await sweepAfter(12)).toBe(0);
      expect(await sweepAfter(13)).toBe(0);
      expect(await isThere(blob)).toBe(true);
      expect(await sweepAfter(2)).toBe(1);
      expect([await isThere(blob), await records()]).toEqual([false, []]);
    });

    it('K3: a dead letter keeps its data, and so does its replay; a purge lets it go', async () => {
      let healthy = false;
      const seen: string[] = [];
      await bus.consume(
        q,
        async ({ message }) => {
          if (!healthy) throw new TypeError('broken wire');
          seen.push((message.data as { text: string }).text);
        },
        { maxAttempts: 1, backoff: () => 5 },
      );
      await send();
      const died = async (): Promise<string> => {
        const [letter] = await vi.waitFor(async () => {
          const letters = await bus.deadLetters.list({ limit: 5 });
          expect(letters).toHaveLength(1);
          return letters;
        });
        return letter?.id ?? '';
      };
      const first = await died();
      const blob = await blobOf();
      expect([await sweepAfter(30), await sweepAfter(1000), await isThere(blob)]).toEqual([0, 0, true]);
      expect(await bus.deadLetters.replay(first)).toEqual({ outcome: 'sent' });
      await vi.waitFor(async () => expect(await died()).not.toBe(first));
      expect([await sweepAfter(30), await isThere(blob)]).toEqual([0, true]);
      healthy = true;
      expect(await bus.deadLetters.replay(await died())).toEqual({ outcome: 'sent' });
      await vi.waitFor(() => expect(seen).toEqual([large]));
      await noted(({ done_at: at }) => at !== null);
      expect([await sweepAfter(2), await isThere(blob)]).toEqual([1, false]);

      healthy = false;
      await send(2);
      await died();
      const second = await blobOf();
      expect([await sweepAfter(30), await isThere(second)]).toEqual([0, true]);
      expect(await bus.deadLetters.purge({ queue: q })).toBe(1);
      expect([await sweepAfter(30), await isThere(second)]).toEqual([1, false]);
    });

    it('K4: an event keeps its data until every group that it matches is done with it', async () => {
      const seen: string[] = [];
      const listen = (group: string) =>
        bus.subscribe(
          ['test.#'],
          async ({ message }) => void seen.push(`${group} ${(message.data as { n: number }).n}`),
          {
            group,
          },
        );
      const late = await listen('late');
      await late.stop();
      await listen('early');
      const other = await bus.subscribe(['another.#'], async () => undefined, { group: 'another' });
      await other.stop();
      await bus.publish([mintTestMessage(happened, { data: { n: 1, text: large }, subject: 's' })]);
      await vi.waitFor(() => expect(seen).toEqual(['early 1']));
      const blob = await blobOf();
      await noted(({ done_by: by }) => by.includes('early'));
      expect([await sweepAfter(30), await sweepAfter(100), await isThere(blob)]).toEqual([0, 0, true]);
      await listen('late');
      await vi.waitFor(() => expect(seen).toEqual(['early 1', 'late 1']));
      await noted(({ done_by: by }) => by.includes('late'));
      expect([await sweepAfter(2), await isThere(blob)]).toEqual([1, false]);
    });

    it('K6: messages with the same data share it, and the last one to go removes it', async () => {
      await bus.queues.declare(q);
      await send();
      await bus.send({ queue: 'other.q', messages: [mintTestMessage(work, { data: { n: 1, text: large } })] });
      const [one, two] = await records();
      expect(one?.blob).toBe(two?.blob);
      const seen = await seenBy();
      await vi.waitFor(() => expect(seen).toEqual([large]));
      await noted(({ done_at: at }) => at !== null);
      expect([await sweepAfter(2), await isThere(one?.blob ?? '')]).toEqual([0, true]);
      const taken: string[] = [];
      await bus.consume('other.q', async ({ message }) => void taken.push((message.data as { text: string }).text));
      await vi.waitFor(() => expect(taken).toEqual([large]));
      await noted(({ done_at: at }) => at !== null);
      expect([await sweepAfter(2), await isThere(one?.blob ?? '')]).toEqual([1, false]);
    });
  });
}
