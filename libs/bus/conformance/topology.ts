/** The conformance of every bus with an external broker about the topology that older and newer programs left there. */
import { openStore } from '@anneal/store/open.ts';
import type { Document } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BusHarness } from './harness.ts';

/** Registers the tests of V1 to V3 for an adapter. */
export function topologyConformance(name: string, harness: BusHarness): void {
  describe(`the topology on ${name}`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    beforeEach(async () => {
      place = await harness.fresh();
      const { bus } = await harness.open(place);
      await bus.close();
    });
    afterEach(() => place.dispose());

    /** Leaves the topology as a program does that knows `by` more versions. */
    const shift = async (by: number): Promise<void> => {
      const store = await openStore({ url: place.storeUrl });
      const records = await store.collection<Document & { topology: number }>({ name: 'bus_topology', indexes: [] });
      const items = await records.find({ where: {}, orderBy: ['id'] });
      for (const found of items) await records.replace({ ...found, topology: found.topology + by }, found.version);
      expect(items).toHaveLength(1);
      await store.close();
    };

    it('has a version, and a build that supports only older ones refuses to start', async () => {
      await shift(1);
      await expect(harness.open(place)).rejects.toMatchObject({ code: 'NotSupported' });
      await shift(-1);
      const { bus } = await harness.open(place);
      await bus.close();
    });
  });
}
