import { openStore } from '@anneal/store/open.ts';
import { soleProcess } from '@anneal/store/permission.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { lossIn, openDataMarks } from './data-marks.ts';

describe('the marks of store and bus', () => {
  it.each([
    [{ store: 0, bus: 0, at: undefined }, undefined],
    [{ store: 7, bus: 7, at: 't' }, undefined],
    [{ store: 8, bus: 7, at: 't' }, undefined],
    [
      { store: 5, bus: 7, at: '2026-12-01T00:00:00.000Z' },
      /^store\.db is older .* of 2026-12-01T00:00:00.000Z, and 2 /,
    ],
    [{ store: 0, bus: 3, at: undefined }, /^store\.db is older than bus\.db: it has no mark, and 3 /],
    [{ store: 9, bus: 7, at: 't' }, /^bus\.db is older than store\.db: 1 marks before t are missing/],
  ])('%j show %s', (marks, expected) => {
    const loss = lossIn(marks);
    if (expected === undefined) expect(loss).toBeUndefined();
    else expect(loss).toMatch(expected);
  });
});

describe('a server', () => {
  useQuickClock({ stepMs: 200 });

  it('marks both files while messages move, and reports once that the store is behind', async () => {
    const store = await openStore({ url: 'sqlite::memory:' });
    const bus = { count: 0, commits: 1 };
    const marks = {
      last: async () => bus.count,
      put: async (count: number) => {
        bus.count = count;
        bus.commits += 1;
      },
      commits: () => bus.commits,
    };
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const open = () => openDataMarks({ store, marks, permission: soleProcess('test'), now: () => new Date(), log });
    const first = await open();
    const moves = async (): Promise<void> => {
      const before = bus.count;
      bus.commits += 1;
      await eventually(() => (bus.count > before ? true : undefined), { what: 'the next mark' });
    };
    await moves();
    await moves();
    await first.stop();
    await (await open()).stop();
    expect(lines).toEqual([]);
    // As a store that was put back alone.
    bus.count += 5;
    await (await open()).stop();
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      expect.stringMatching(/^store\.db is older than bus\.db: .* and 5 later ones are missing/),
    ]);
    await (await open()).stop();
    expect(lines).toHaveLength(1);
    await store.close();
  });
});
