/** The conformance of a bus when a foreign program refuses its messages. Each broker says how such a program does it. */
import { mintTestMessage, sum, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import type { Bus, Death } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { openStore } from '@anneal/store/open.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';

/** The queue of every test. */
export const q = 'test.q';
/** The deadline of a wait for a broker, in milliseconds. */

/** Buses on one broker with one store. `close` closes all of them and removes the store. */
export class BusesOn {
  readonly #url: string;
  readonly #folder: string;
  readonly #opened: { close(): Promise<void> }[] = [];

  private constructor(url: string, folder: string) {
    this.#url = url;
    this.#folder = folder;
  }

  static async at(url: string): Promise<BusesOn> {
    return new BusesOn(url, await mkdtemp(join(tmpdir(), 'anneal-strangers-')));
  }

  async open(): Promise<Bus> {
    const store = await openStore({ url: `sqlite:${join(this.#folder, 'store.db')}` });
    const bus = await openTestBus({ url: this.#url, store });
    this.#opened.push({
      async close() {
        await bus.close();
        await store.close();
      },
    });
    return bus;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((each) => each.close()));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A way in which a foreign program refuses the first message of the queue. */
export interface ForeignRefusal {
  /** Completes `the requester of a message …`. */
  readonly how: string;
  /** Runs before the buses open. */
  readonly prepare?: () => Promise<void>;
  /** Refuses the first message, and waits for one to arrive. */
  readonly refuse: () => Promise<void>;
  /** A part of the reason in the dead letter. */
  readonly reason: string;
  /** Deliveries that the dead letter counts. */
  readonly attempts: number;
}

/** The dead letter on the bus. Waits for it, and fails when there are more. */
export const onlyLetter = (bus: Bus) =>
  vi.waitFor(async () => {
    const letters = await bus.deadLetters.list({ limit: 5 });
    expect(letters).toHaveLength(1);
    return letters[0];
  });

/** Registers the tests of B7 for refused messages. `open` gives a bus on an empty broker. */
export function refusedMessages(refusals: readonly ForeignRefusal[], open: () => Promise<Bus>): void {
  it.each(refusals)('B7: the requester of a message $how is notified', async (refusal) => {
    await refusal.prepare?.();
    const [service, requester] = [await open(), await open()];
    const notices: Envelope[] = [];
    await requester.consume('asker', async ({ message }) => void notices.push(message));
    const request = mintTestMessage(work, { data: { n: 1 }, subject: 's', replyto: 'asker' });
    await requester.send({ queue: q, messages: [request] });
    await refusal.refuse();
    const deaths: Death[] = [];
    const handled: unknown[] = [];
    await service.consume(q, async ({ message }) => void handled.push(message), {
      onDeath: async (death) => void deaths.push(death),
    });
    await vi.waitFor(() => expect(notices).toHaveLength(1));
    const letter = await onlyLetter(service);
    expect(letter).toMatchObject({
      queue: q,
      attempts: refusal.attempts,
      failure: { code: 'Defect', message: expect.stringContaining(refusal.reason) as string },
    });
    expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
    expect(notices[0]).toMatchObject({
      type: 'request.died',
      subject: 's',
      data: { dead_letter: letter?.id, queue: q, request: { id: request.id, type: 'test.work' } },
    });
    expect(deaths).toMatchObject([{ letter: letter?.id, queue: q, message: { id: request.id } }]);
    expect(handled).toEqual([]);
    expect(await service.queues.measure(q)).toMatchObject({ depth: 0, inFlight: 0 });

    expect(await service.deadLetters.replay(letter?.id ?? '')).toEqual({ outcome: 'sent' });
    await vi.waitFor(() => expect(handled).toMatchObject([{ id: request.id }]));
  });

  it.each(refusals.slice(0, 1))('B7: a question $how is answered with the failure', async ({ refuse }) => {
    const [service, requester] = [await open(), await open()];
    await service.queues.declare(q);
    const message = mintTestMessage(sum, { data: { a: 1, b: 2 } });
    const refused = expect(requester.request({ queue: q, call: sum, message })).rejects.toMatchObject({
      code: 'Defect',
      details: { queue: q },
    });
    await vi.waitFor(async () => expect(await service.queues.measure(q)).toMatchObject({ depth: 1 }));
    await refuse();
    await service.consume(q, async () => undefined);
    await refused;
  });
}
