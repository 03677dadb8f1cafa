/** A gateway whose broker is killed: it says so at once, answers what needs only the store, and continues by itself. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@anneal/client/connect.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FindBackend } from '../../backends/backend.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import { ownEnvironment, repository } from '../../e2e/server.ts';
import { reportSkipped } from '../../backends/missing.ts';

const brokers: readonly (readonly [string, FindBackend])[] = [
  ['RabbitMQ', findRabbitmq],
  ['NATS', findNats],
];
/** Far below the 30 s that the gateway waits for a service that is only slow. */
const soonMs = 8_000;

for (const [name, find] of brokers) {
  const found = await find();
  if ('missing' in found) reportSkipped(`a gateway whose ${name} is killed`, found.missing);
  const server = 'missing' in found ? undefined : found;
  describe.skipIf(server?.mayBeKilled !== true)(`a gateway whose ${name} is killed`, () => {
    let data: string;
    let running: Awaited<ReturnType<typeof startServices>>;
    let client: Client;
    let authUrl: string;
    let login: Record<string, string>;
    const password = 'a-password-of-this-test';
    const logIn = (): Promise<Client> => connect({ authUrl, username: 'admin', password, project: 'admin' });

    beforeAll(async () => {
      data = await mkdtemp(join(tmpdir(), 'anneal-outage-'));
      const port = await freeLocalPort();
      running = await startServices({
        services: [identityService, gatewayService, schedulingService, templatingService, notificationService],
        environment: {
          ANNEAL_DATA: data,
          ANNEAL_BUS_URL: server?.url ?? '',
          ANNEAL_GATEWAY_PORT: String(port),
          ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
        },
        log: createLog({ level: 'fatal', format: 'json' }),
      });
      authUrl = `http://127.0.0.1:${port}/identity/v3`;
      client = await logIn();
      login = { OS_AUTH_URL: authUrl, OS_USERNAME: 'admin', OS_PASSWORD: password, OS_PROJECT_NAME: 'admin' };
    });
    afterAll(async () => {
      await running?.stop();
      await server?.stop();
      await rm(data, { recursive: true, force: true, maxRetries: 5 });
    });

    /** The milliseconds that a call takes. */
    const timed = async (call: () => Promise<unknown>): Promise<number> => {
      const start = performance.now();
      await call();
      return performance.now() - start;
    };
    const start = (...words: string[]) => {
      const command = spawn(process.execPath, ['services/cli/main.ts', ...words], {
        cwd: repository,
        env: { ...ownEnvironment(), ...login, NO_COLOR: '1' },
      });
      const text = { stdout: '', stderr: '' };
      command.stdout.on('data', (chunk: Buffer) => (text.stdout += chunk.toString()));
      command.stderr.on('data', (chunk: Buffer) => (text.stderr += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => void command.once('close', resolve));
      return { text, ended, interrupt: () => command.kill('SIGINT') };
    };
    const reason = (service: string, call: string): RegExp =>
      new RegExp(
        `^The gateway cannot ask the ${service} service \\(${call}\\). The connection to .* is lost.*since \\d`,
      );

    it('refuses at once with 503 and the reason, answers what needs only the store, and continues', async () => {
      if (!server) return;
      expect(await client.stacks.list()).toEqual([]);
      const bundle = { template: 'heat_template_version: 2021-04-16\n', environmentFiles: [], files: {} };
      await client.stacks.create({ name: 'first', bundle });
      const watching = start('event', 'watch', '--after', 'beginning');
      await eventually(() => watching.text.stdout !== '', {
        what: 'the watching command being logged in',
        last: () => watching.text,
      });
      const printed = (text: string): Promise<true> =>
        eventually(() => (watching.text.stderr.includes(text) ? true : undefined), {
          what: `the watching command printing "${text}"`,
          last: () => watching.text,
        });
      await server.kill();
      const killed = performance.now();
      const reported = printed('Retrying; no event is lost.').then(() => performance.now() - killed);

      const took = await timed(async () => {
        await expect(client.stacks.list()).rejects.toMatchObject({
          code: 'Unavailable',
          message: expect.stringMatching(reason('scheduling', 'stack.list')) as string,
          details: {
            broker_away_since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
            remedy: expect.stringContaining('ANNEAL_BUS_URL') as string,
          },
        });
      });
      expect(took).toBeLessThan(soonMs);

      // A login asks the identity service. A token does not.
      await expect(logIn()).rejects.toMatchObject({
        code: 'Unavailable',
        message: expect.stringMatching(reason('identity', 'identity.login')) as string,
      });
      const services = await client.services();
      expect(services.find((one) => one.name === 'scheduling')?.replicas).toHaveLength(1);
      expect(services.find((one) => one.name === 'scheduling')?.status).toBe('unknown');
      if (name === 'RabbitMQ') expect(await client.deadLetters.list()).toEqual([]);
      else await expect(client.deadLetters.list()).rejects.toMatchObject({ code: 'Unavailable' });
      await expect(client.nodes.list()).rejects.toMatchObject({
        code: 'Unavailable',
        details: { remedy: expect.stringContaining('ANNEAL_BUS_URL') as string },
      });
      await expect(client.queues.list()).rejects.toMatchObject({ code: 'Unavailable' });
      const { unavailable, needs } = await client.overview();
      expect(unavailable).toContain('scheduling');
      expect(needs).toMatchObject([{ kind: 'service', name: 'broker', since: expect.any(String) as string }]);

      const listing = start('stack', 'list');
      expect([await listing.ended, listing.text.stdout]).toEqual([1, '']);
      expect(listing.text.stderr).toMatch(/^Error: The gateway cannot ask the identity service \(identity\.login\)\./);
      expect(listing.text.stderr).toContain('Remedy: Start the broker');
      expect(await reported).toBeLessThan(soonMs);

      await server.start();
      await eventually(async () => ((await client.stacks.list().catch(() => undefined)) ? true : undefined), {
        within: 120_000,
        what: 'the list of the stacks',
      });
      await printed('Reconnected to the server.');
      watching.interrupt();
      await watching.ended;
    });
  });
}
