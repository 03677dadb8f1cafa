/** A broker or a database is down for longer than a broker waits for a consumer: services stay up, report it, and continue when it is back. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import {
  brokers,
  findBackends,
  isShort,
  startDistributed,
  type Distributed,
  type ServiceProcess,
} from './distributed.ts';
import { bundle, deleted, withClientRetries, settled } from '../server.ts';
import { faultsOfTrace, fleet } from '../templates.ts';

/** A broker offers a message to another consumer after 10 s without a heartbeat. */
const awayMs = isShort ? 11_000 : 15_000;
const shape = isShort
  ? { hosts: 2, configsPerHost: 4, work: 'sleep 1' }
  : { hosts: 4, configsPerHost: 6, work: 'sleep 2' };

interface Readiness {
  readonly name: string;
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

const readinessOf = async ({ name, health_port: port }: ServiceProcess): Promise<Readiness> => {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(10_000) });
  return { name, ...((await response.json()) as Omit<Readiness, 'name'>) };
};

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`services on ${name} and MongoDB`, () => {
    let server: Distributed;
    beforeAll(async () => {
      server = await startDistributed({ ...backends!, lab: shape.hosts });
    });
    afterAll(() => server?.dispose(), 60_000);

    const readiness = async (): Promise<Readiness[]> => Promise.all((await server.processes()).map(readinessOf));
    const all = (what: string, holds: (each: Readiness) => boolean): Promise<unknown> => {
      let last: unknown;
      return eventually(
        async () => {
          const found = await readiness();
          last = found;
          return found.every(holds) ? true : undefined;
        },
        { what, last: () => last },
      );
    };

    it.each([
      { missing: 'broker', check: 'bus' },
      { missing: 'database', check: 'store' },
    ] as const)(
      'stay up without the $missing, say why they are not ready, and finish the work when it is back',
      { timeout: 400_000 },
      async ({ missing, check }) => {
        const trace = join(server.data, `trace-${missing}`);
        const pids = async (): Promise<number[]> => (await server.processes()).map(({ pid }) => pid);
        const before = await pids();
        await withClientRetries(() =>
          server.client.stacks.create({ name: missing, bundle: bundle(fleet({ ...shape, trace })) }),
        );
        await eventually(async () => ((await readFile(trace, 'utf8').catch(() => '')) === '' ? undefined : true), {
          what: 'the first config having run',
        });

        await server[missing].kill();
        const since = performance.now();
        const { host } = new URL(server[missing].url);
        await all(
          `every service saying that it is not ready without the ${missing}, and where that should be`,
          ({ ready, checks }) => !ready && checks[check]?.includes(host) === true,
        );
        await delay(Math.max(0, awayMs - (performance.now() - since)));
        expect(await pids()).toEqual(before);

        await server[missing].start();
        await all('all services being ready again', ({ ready }) => ready);
        expect((await settled(server, missing, 180_000)).stack_status).toBe('CREATE_COMPLETE');
        expect(faultsOfTrace(await readFile(trace, 'utf8'), shape)).toEqual([]);
        expect(await server.client.deadLetters.list()).toEqual([]);
        expect(await pids()).toEqual(before);
        await withClientRetries(() => server.client.stacks.delete({ stack: missing }));
        await deleted(server, missing, 180_000);
      },
    );
  });
}
