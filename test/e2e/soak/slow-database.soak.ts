/**
 * A database whose every answer is seconds late: stacks are slow but end, and no queue changes its consumer. One that is
 * suddenly much slower makes the processes pause once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSlowProxy, type SlowProxy } from '../../backends/slow-proxy.ts';
import { brokers, findBackends, isShort, startDistributed, type Distributed } from './distributed.ts';
import { bundle, deleted, withClientRetries, settled } from '../server.ts';

const withinMs = 600_000;
/** Processes do not expect an answer that is later, until they know (`libs/bus/active/presence.ts`). */
const unexpectedMs = 4_000;
/** Each step of the stack costs several round trips to the database, one after the other. */
const template = `
heat_template_version: 2021-04-16
resources:
  a: { type: OS::Heat::TestResource, properties: { value: one } }
  b: { type: OS::Heat::Value, properties: { value: { get_attr: [a, output] } } }
outputs:
  end: { value: { get_attr: [b, value] } }
`;

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`services on ${name} and a slow MongoDB`, () => {
    let server: Distributed;
    let proxy: SlowProxy;
    beforeAll(async () => {
      const { broker, database } = backends!;
      const { hostname, port } = new URL(database.url);
      proxy = await startSlowProxy({ host: hostname, port: Number(port) });
      const url = database.url.replace(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`);
      server = await startDistributed({ broker, database: { ...database, url }, lab: 0 });
    });
    afterAll(async () => {
      if (proxy) proxy.lateMs = 0;
      await server?.dispose();
      await proxy?.close();
    });

    const takenOver = async (): Promise<number> => {
      const texts = await Promise.all(
        (await server.processes()).map(async ({ health_port: port }) =>
          (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
        ),
      );
      const counts = texts.flatMap((text) => [...text.matchAll(/^anneal_queue_taken_over_total\{.*\} (\d+)$/gm)]);
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const pids = async (): Promise<number[]> => (await server.processes()).map(({ pid }) => pid);

    it.each(isShort ? [2_500] : [1_000, 2_500, 6_000])(
      'that answers %i ms late make and delete a stack, and keep their queues',
      async (lateMs) => {
        const stack = `late-${lateMs}`;
        // Every replica has its share of queues.
        let before = -1;
        await eventually(
          async () => {
            const last = before;
            before = await takenOver();
            if (before > 0 && before === last) return true;
            return delay(2_000, undefined);
          },
          { within: 120_000, what: 'the queues being spread' },
        );
        const processes = await pids();
        proxy.lateMs = lateMs;
        await withClientRetries(() => server.client.stacks.create({ name: stack, bundle: bundle(template) }), withinMs);
        const created = await settled(server, stack, withinMs);
        expect(created.stack_status).toBe('CREATE_COMPLETE');
        expect(created.outputs).toMatchObject([{ output_key: 'end', output_value: 'one' }]);
        if (isShort) proxy.lateMs = 0;
        await withClientRetries(() => server.client.stacks.delete({ stack }), withinMs);
        await deleted(server, stack, withinMs);
        if (lateMs < unexpectedMs) expect(await takenOver()).toBe(before);
        expect(await pids()).toEqual(processes);
        proxy.lateMs = 0;
        expect(await server.client.deadLetters.list()).toEqual([]);
      },
      2 * withinMs,
    );
  });
}
