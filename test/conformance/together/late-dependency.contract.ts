/** A service that starts before its broker or database waits, logs the missing one, and continues when it is available. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FindBackend } from '../../backends/backend.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import { reportSkipped } from '../../backends/missing.ts';

interface Case {
  readonly name: string;
  readonly find: FindBackend;
  readonly check: 'bus' | 'store';
  readonly what: string;
  readonly settings: (url: string) => Record<string, string>;
}

const cases: readonly Case[] = [
  {
    name: 'RabbitMQ',
    find: findRabbitmq,
    check: 'bus',
    what: 'the broker',
    settings: (url) => ({ ANNEAL_BUS_URL: url }),
  },
  { name: 'NATS', find: findNats, check: 'bus', what: 'the broker', settings: (url) => ({ ANNEAL_BUS_URL: url }) },
  {
    name: 'MongoDB',
    find: findMongodb,
    check: 'store',
    what: 'the database',
    settings: (url) => ({ ANNEAL_STORE_URL: databaseUrl(url, 'anneal_late') }),
  },
];

let data: string;
const lines: string[] = [];
const log = createLog({
  level: 'info',
  format: 'json',
  destination: new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  }),
});
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'anneal-late-'));
  lines.length = 0;
});
afterEach(() => rm(data, { recursive: true, force: true, maxRetries: 5 }));

for (const { name, find, check, what, settings } of cases) {
  const found = await find();
  if ('missing' in found) reportSkipped(`a service that starts before ${name}`, found.missing);
  const server = 'missing' in found ? undefined : found;
  describe.skipIf(server?.mayBeKilled !== true)(`a service that starts before ${name}`, () => {
    afterAll(() => server?.stop());

    it('waits, says so in one line and on /health/ready, and starts when it is there', async () => {
      if (!server) return;
      await server.kill();
      const port = await freeLocalPort();
      const starting = startServices({
        services: [templatingService],
        environment: { ANNEAL_DATA: data, ANNEAL_HEALTH_PORT: String(port), ...settings(server.url) },
        log,
      });
      const ready = async (): Promise<{ ready: boolean; checks: Record<string, string> } | undefined> =>
        fetch(`http://127.0.0.1:${port}/health/ready`).then(
          (response) => response.json() as Promise<{ ready: boolean; checks: Record<string, string> }>,
          () => undefined,
        );
      const waits = await eventually(
        async () => {
          const now = await ready();
          return now?.checks[check]?.startsWith(`waiting for ${what}: `) ? now : undefined;
        },
        { what: 'not being ready', last: () => lines },
      );
      expect(waits.ready).toBe(false);
      expect(waits.checks[check]).toMatch(/ECONNREFUSED|connection refused/);
      await server.start();
      const running = await starting;
      await eventually(async () => ((await ready())?.ready === true ? true : undefined));
      await running.stop();
      const logged = lines.filter((line) => line.includes(what));
      expect(logged).toHaveLength(2);
      expect(logged[0]).toContain(`waiting for ${what}; not ready until it answers: `);
      expect(logged[1]).toContain(`${what} is available`);
    });
  });
}
