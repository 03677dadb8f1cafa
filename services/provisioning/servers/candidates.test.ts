import { describe, expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { Candidates } from './candidates.ts';

describe('candidates', () => {
  const ids = ['a', 'b', 'c'];
  const taker = { instance_id: 's1', origin: null };
  const open = () => {
    const seen = { now: 0, reads: 0, fails: false, takesMs: 0 };
    const candidates = new Candidates(
      async () => {
        seen.reads += 1;
        seen.now += seen.takesMs;
        if (seen.fails) throw new Error('no store');
        return ids.map((id) => ({ id }) as NodeDocument);
      },
      () => seen.now,
    );
    const names = async (): Promise<string[]> =>
      (await candidates.recent()).filter(({ instance_id }) => instance_id === undefined).map(({ id }) => id);
    return { seen, candidates, names };
  };

  it('C1: are read once for servers that ask together, and again after a quarter of a second', async () => {
    const { seen, names } = open();
    await Promise.all(Array.from({ length: 100 }, names));
    expect(seen.reads).toBe(1);
    seen.now = 251;
    await names();
    expect(seen.reads).toBe(2);
  });

  it('C1: are kept for ten times as long as their reading took', async () => {
    const { seen, names } = open();
    seen.takesMs = 150;
    await names();
    seen.now += 1_500;
    await names();
    expect(seen.reads).toBe(1);
    seen.now += 1;
    await names();
    expect(seen.reads).toBe(2);
  });

  it('C2: are taken by one server, until the list is read again', async () => {
    const { seen, candidates, names } = open();
    await names();
    expect([candidates.take('a', taker), candidates.take('a', taker)]).toEqual([true, false]);
    expect(await names()).toEqual(['b', 'c']);
    seen.now = 300;
    expect(await names()).toEqual(ids);
    expect(candidates.take('a', taker)).toBe(true);
  });

  it('are read again after a reading that failed', async () => {
    const { seen, names } = open();
    seen.fails = true;
    await expect(names()).rejects.toThrow('no store');
    seen.fails = false;
    expect(await names()).toEqual(ids);
  });
});
