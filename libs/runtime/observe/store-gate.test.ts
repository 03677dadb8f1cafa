import { describe, expect, it } from 'vitest';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Delivery } from '@anneal/bus/port.ts';
import type { Blobs } from '@anneal/store/port.ts';
import { createStoreGate } from './store-gate.ts';

const silent = { warn: () => undefined, info: () => undefined };
const unavailable = new AnnealError('Unavailable', 'The store at db cannot be used: it is gone.');

function stage() {
  const store = { there: true, checks: 0 };
  const gate = createStoreGate({
    store: {
      blobs: {
        get: async () => {
          if (!store.there) throw unavailable;
          return new Uint8Array([1]);
        },
      } as unknown as Blobs,
      async check() {
        store.checks += 1;
        if (!store.there) throw unavailable;
      },
    },
    log: silent,
  });
  const aborter = new AbortController();
  const delivery = { attempt: 1, signal: aborter.signal } as Delivery;
  return { store, gate, aborter, delivery };
}

describe('the store gate', () => {
  it('G1: runs a handler again in the same attempt when the failed store is back', async () => {
    const { store, gate, delivery } = stage();
    let runs = 0;
    store.there = false;
    const handled = gate.guard(async () => {
      runs += 1;
      if (!store.there) throw unavailable;
    })(delivery);
    await expect.poll(() => store.checks).toBeGreaterThan(1);
    expect(runs).toBe(1);
    store.there = true;
    await handled;
    expect(runs).toBe(2);
    gate.close();
  });

  it('starts no new work while the store is down, and checks the store once for all handlers that fail together', async () => {
    const { store, gate, delivery } = stage();
    const begun: number[] = [];
    const handler = (n: number) =>
      gate.guard(async () => {
        begun.push(n);
        if (!store.there) throw unavailable;
      })(delivery);
    store.there = false;
    const first = [handler(1), handler(2), handler(3)];
    await expect.poll(() => store.checks).toBe(1);
    const later = handler(4);
    await expect.poll(() => store.checks).toBeGreaterThan(1);
    expect(begun).toEqual([1, 2, 3]);
    store.there = true;
    await Promise.all([...first, later]);
    expect(begun.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2, 3, 3, 4]);
    gate.close();
  });

  it('leaves every failure without a store cause to the consumer', async () => {
    const { store, gate, delivery } = stage();
    for (const error of [unavailable, new AnnealError('NotFound', 'no such thing'), new Error('a fault of ours')]) {
      await expect(gate.guard(() => Promise.reject(error))(delivery)).rejects.toBe(error);
    }
    expect(store.checks).toBe(1);
    gate.close();
  });

  it('G2: releases its messages when the consumer or the process stops', async () => {
    const { store, gate, aborter, delivery } = stage();
    store.there = false;
    const handled = gate.guard(() => Promise.reject(unavailable))(delivery);
    await expect.poll(() => store.checks).toBeGreaterThan(0);
    aborter.abort(new AnnealError('Unavailable', 'The consumer was stopped.'));
    await expect(handled).rejects.toMatchObject({ message: 'The consumer was stopped.' });
    const other = gate.guard(() => Promise.reject(unavailable))({ ...delivery, signal: new AbortController().signal });
    gate.close();
    await expect(other).rejects.toBe(unavailable);
  });

  it('reads the stored data of a message when the store is back', async () => {
    const { store, gate } = stage();
    store.there = false;
    const read = gate.blobs.get('hash');
    await expect.poll(() => store.checks).toBeGreaterThan(1);
    store.there = true;
    expect(await read).toEqual(new Uint8Array([1]));
    gate.close();
  });
});
