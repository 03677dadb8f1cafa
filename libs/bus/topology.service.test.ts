import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silent } from './conformance/messages.ts';
import { bringForward } from './topology.ts';

describe('the version of a broker topology', () => {
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

  it('is that of the first build that starts, without a migration', async () => {
    await start('one', [step('2')]);
    await start('two', [step('2')]);
    expect(done).toEqual([]);
  });

  it('V1: a process does not start on a newer topology, and its error says what to do', async () => {
    await start('one', [step('2'), step('3')]);
    await expect(start('two', [step('2')])).rejects.toMatchObject({
      code: 'NotSupported',
      message: expect.stringMatching(/version 3.*supports up to 2.*newer build/) as string,
    });
  });

  it('V2: an older topology is migrated once, step by step, while other starting processes wait', async () => {
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

  it('V3: when the migrating process dies, another one repeats the step', async () => {
    await start('one', []);
    const records = await store.collection({ name: 'bus_topology', indexes: [] });
    const found = await records.get('broker:a');
    // The record that a process leaves when it is killed in the first step.
    await records.replace({ ...found, id: 'broker:a', by: 'dead' } as never, found?.version ?? 0);
    await start('two', [step('2')], 50);
    expect(done).toEqual(['2']);
  });

  it('V3: a long step is not started by a second process', async () => {
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
    await vi.waitFor(async () => expect((await records.get('broker:a'))?.version).toBeGreaterThan(12));
    gate.resolve();
    await Promise.all([first, second]);
    expect(done).toEqual(['begun']);
  });

  it('stays when a step fails: the process stops with the error, and the next one retries at once', async () => {
    await start('one', []);
    await expect(start('two', [() => Promise.reject(new Error('no room'))])).rejects.toThrow('no room');
    await start('three', [step('2')]);
    expect(done).toEqual(['2']);
  });
});
