import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silent } from './conformance/messages.ts';
import { bringForward } from './topology.ts';

describe('the version of what stands on a broker', () => {
  let store: Store;
  let done: string[];
  beforeEach(async () => {
    store = await openStore({ url: 'sqlite::memory:' });
    done = [];
  });
  afterEach(() => store.close());

  const start = (by: string, steps: readonly (() => Promise<void>)[], silenceMs = 10_000): Promise<void> =>
    bringForward({ store, id: 'broker:a', by, steps, log: silent, silenceMs });
  const step = (name: string) => (): Promise<void> => {
    done.push(name);
    return Promise.resolve();
  };

  it('is that of the program that comes first, and nothing is brought forward', async () => {
    await start('one', [step('2')]);
    await start('two', [step('2')]);
    expect(done).toEqual([]);
  });

  it('V1: a process does not start on a newer one, and says what to do', async () => {
    await start('one', [step('2'), step('3')]);
    await expect(start('two', [step('2')])).rejects.toMatchObject({
      code: 'NotSupported',
      message: expect.stringMatching(/version 3.*knows 2.*newer program/) as string,
    });
  });

  it('V2: an older one is brought forward step by step, once, while the others that start wait', async () => {
    await start('one', []);
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = async (): Promise<void> => {
      begun.resolve();
      await gate.promise;
      done.push('2');
    };
    const first = start('two', [slow, step('3')]).then(() => done.push('two started'));
    await begun.promise;
    const others = ['three', 'four'].map((by) => start(by, [slow, step('3')]).then(() => done.push('started')));
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(done.slice(0, 2)).toEqual(['2', '3']);
    expect(done).toHaveLength(5);
  });

  it('V3: who dies in it is followed by another, which repeats the step', async () => {
    await start('one', []);
    const records = await store.collection({ name: 'bus_topology', indexes: [] });
    const found = await records.get('broker:a');
    // The record that a process leaves when it is killed in the first step.
    await records.replace({ ...found, id: 'broker:a', by: 'dead' } as never, found?.version ?? 0);
    await start('two', [step('2')], 50);
    expect(done).toEqual(['2']);
  });

  it('V3: a step that takes long is not begun by another', async () => {
    await start('one', []);
    const gate = Promise.withResolvers<void>();
    const slow = async (): Promise<void> => {
      done.push('begun');
      await gate.promise;
    };
    const first = start('two', [slow], 80);
    const second = start('three', [slow], 80);
    const records = await store.collection({ name: 'bus_topology', indexes: [] });
    // The process shows often enough that it is alive.
    await vi.waitFor(async () => expect((await records.get('broker:a'))?.version).toBeGreaterThan(12), 5000);
    gate.resolve();
    await Promise.all([first, second]);
    expect(done).toEqual(['begun']);
  });

  it('a step that fails stops the process with its error, and the next one tries it again at once', async () => {
    await start('one', []);
    await expect(start('two', [() => Promise.reject(new Error('no room'))])).rejects.toThrow('no room');
    await start('three', [step('2')]);
    expect(done).toEqual(['2']);
  });
});
