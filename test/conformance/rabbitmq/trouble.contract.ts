/** The bus on a real RabbitMQ that dies, loses connections or has no memory, and between processes. */
import { happened, mintTestMessage, work } from '@anneal/bus/conformance/messages.ts';
import { busRestartConformance } from '@anneal/bus/conformance/restart.ts';
import { activeConformance } from '@anneal/bus/conformance/active.ts';
import type { Bus, Delivery } from '@anneal/bus/port.ts';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { lostConnectionConformance } from '../lost-connection.ts';
import { rabbitmqForTests, type RabbitmqPlace } from '../rabbitmq-place.ts';

const { missing, server, harness } = rabbitmqForTests;
const { fresh, open } = harness;

const nOf = ({ message }: Delivery): number => (message.data as { n: number }).n;
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

describe.skipIf(missing !== undefined)('RabbitMQ', () => {
  afterAll(() => server.stop());

  if (missing === undefined && server.mayBeKilled) busRestartConformance('RabbitMQ', harness, server);
  lostConnectionConformance('RabbitMQ', harness);
  activeConformance('RabbitMQ', harness);

  describe('between processes', () => {
    let place: RabbitmqPlace;
    let bus: Bus;
    let other: Bus;
    beforeEach(async () => {
      place = await fresh();
      bus = (await open(place)).bus;
      other = (await open(place)).bus;
    });
    afterEach(async () => {
      await Promise.all([bus.close(), other.close()]);
      await place.dispose();
    });
    const send = (...values: number[]): Promise<void> =>
      bus.send({ queue: 'test.q', messages: values.map((n) => mintTestMessage(work, { data: { n } })) });

    it('a queue that another process removed is recreated, with the messages sent since then', async () => {
      await send(1);
      expect(await other.queues.purge('test.q')).toBe(1);
      await other.queues.remove('test.q');
      await send(2, 3);
      expect((await bus.queues.peek('test.q', 5)).map(({ data }) => data)).toEqual([{ n: 2 }, { n: 3 }]);
    });

    it('B3: one of several processes is active; when it stops, the next takes over its unfinished messages', async () => {
      const active: string[] = [];
      const seen: number[] = [];
      const options = (who: string) => ({
        singleActive: true,
        onActive: (on: boolean) => void active.push(`${who} ${on}`),
      });
      await bus.consume('test.q', () => new Promise(() => undefined), options('one'));
      await other.consume('test.q', async (delivery) => void seen.push(nOf(delivery)), options('two'));
      await other.send({
        queue: 'test.q',
        messages: numbers(0, 40).map((n) => mintTestMessage(work, { data: { n } })),
      });
      await vi.waitFor(async () => expect(await bus.queues.measure('test.q')).toMatchObject({ inFlight: 16 }));
      expect(active).toEqual(['one true']);
      await bus.close();
      await vi.waitFor(() => expect(seen).toEqual(numbers(0, 40)));
      expect(active).toEqual(['one true', 'one false', 'two true']);
    });

    it('reading messages as an operator counts as no attempt', async () => {
      await send(1, 2);
      for (let time = 0; time < 3; time += 1) expect(await other.queues.peek('test.q', 2)).toHaveLength(2);
      const seen: [number, number][] = [];
      await bus.consume('test.q', async (delivery) => void seen.push([nOf(delivery), delivery.attempt]));
      await vi.waitFor(() => {
        expect(seen).toEqual([
          [1, 1],
          [2, 1],
        ]);
      });
    });

    it('B6: a group receives no events of a pattern that it has dropped', async () => {
      const all = await bus.subscribe(['test.#', 'other.#'], async () => undefined, { group: 'test' });
      await all.stop();
      const seen: string[] = [];
      await other.subscribe(['other.#'], async ({ message }) => void seen.push(message.type), { group: 'test' });
      await bus.publish([mintTestMessage(happened, { data: { n: 1 }, subject: 's' })]);
      expect(await bus.queues.measure('events.test')).toMatchObject({ depth: 0, inFlight: 0 });
      expect(seen).toEqual([]);
    });
  });

  describe.skipIf(missing === undefined && !server.mayBeKilled)('at a memory alarm', () => {
    let place: RabbitmqPlace;
    let bus: Bus;
    beforeEach(async () => {
      place = await fresh();
      // `rabbitmqctl` may take longer on a busy machine than a send waits by default.
      bus = (await open({ ...place, url: `${place.url}&sendtimeout=150000` })).bus;
    });
    afterEach(async () => {
      await bus.close();
      await place.dispose();
    });
    const send = (...values: number[]): Promise<void> =>
      bus.send({ queue: 'test.q', messages: values.map((n) => mintTestMessage(work, { data: { n } })) });

    it('the check reports a broker without memory; sends wait and continue after the alarm', async () => {
      await send(0);
      await server.control('set_vm_memory_high_watermark', '0.000001');
      // The broker reports the alarm at the next publish.
      const waiting = send(1);
      await vi.waitFor(async () => {
        await expect(bus.check()).rejects.toMatchObject({
          code: 'Unavailable',
          message: expect.stringContaining('accepts no messages') as string,
        });
      });
      const seen: number[] = [];
      await bus.consume('test.q', async (delivery) => void seen.push(nOf(delivery)));
      await vi.waitFor(() => expect(seen).toEqual([0]));
      await server.control('set_vm_memory_high_watermark', '0.4');
      await waiting;
      await bus.check();
      await vi.waitFor(() => expect(seen).toEqual([0, 1]));
    });
  });
});
