/** A gateway whose database is killed: it says so within two seconds, to idle event streams too, and continues by itself. */
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
import { freeLocalPort } from '../../backends/free-port.ts';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';
import { findNats } from '../../backends/nats.ts';
import { reportSkipped } from '../../backends/missing.ts';

const [database, broker] = await Promise.all([findMongodb(), findNats()]);
const backends = 'missing' in database || 'missing' in broker ? undefined : { database, broker };
for (const found of [database, broker]) {
  if ('missing' in found) reportSkipped('a gateway whose database is killed', found.missing);
}

/** Two seconds on a quiet machine; the operations themselves wait 15 s for the database. */
const soonMs = 6_000;

describe.skipIf(backends?.database.mayBeKilled !== true)('a gateway whose database is killed', () => {
  const { database: server, broker: bus } = backends ?? {};
  let data: string;
  let running: Awaited<ReturnType<typeof startServices>>;
  let client: Client;
  let url: string;
  const password = 'a-password-of-this-test';

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'anneal-outage-'));
    const port = await freeLocalPort();
    url = `http://127.0.0.1:${port}`;
    running = await startServices({
      services: [identityService, gatewayService, schedulingService, templatingService, notificationService],
      environment: {
        ANNEAL_DATA: data,
        ANNEAL_BUS_URL: bus?.url ?? '',
        ANNEAL_STORE_URL: databaseUrl(server?.url ?? '', 'anneal_outage'),
        ANNEAL_GATEWAY_PORT: String(port),
        ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      },
      log: createLog({ level: 'fatal', format: 'json' }),
    });
    client = await connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });
  });
  afterAll(async () => {
    // The services stop sooner with their database.
    await server?.start().catch(() => undefined);
    await running?.stop();
    await Promise.all([server?.stop(), bus?.stop()]);
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  });

  const away = {
    code: 'Unavailable',
    message: expect.stringMatching(
      /The store at mongodb:.* is not available: .*\(since \d{4}-.*Z, \d+ s\)\.$/,
    ) as string,
    details: {
      store_away_since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      remedy: expect.stringContaining('ANNEAL_STORE_URL') as string,
    },
  };
  const logInByHand = async (): Promise<string> => {
    const user = { name: 'admin', password, domain: { id: 'default' } };
    const scope = { project: { name: 'admin', domain: { id: 'default' } } };
    const answer = await fetch(`${url}/identity/v3/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity: { methods: ['password'], password: { user } }, scope } }),
    });
    return answer.headers.get('x-subject-token') ?? '';
  };
  /** The milliseconds until the call fails because the database is away. */
  const timed = async (call: () => Promise<unknown>, expected: object = away): Promise<number> => {
    const start = performance.now();
    await expect(call()).rejects.toMatchObject(expected);
    return performance.now() - start;
  };

  it('refuses at once with 503, the reason and the remedy, ends idle streams, and continues', async () => {
    expect(await client.stacks.list()).toEqual([]);
    const token = await logInByHand();
    const stream = await fetch(`${url}/api/v1/events`, {
      headers: { accept: 'text/event-stream', 'x-auth-token': token },
    });
    let text = '';
    const ended = (async (): Promise<number> => {
      for await (const chunk of stream.body ?? []) text += Buffer.from(chunk).toString();
      return performance.now();
    })();
    await eventually(() => (text.includes('connected') ? true : undefined), { what: 'the stream being open' });

    await server?.kill();
    const killed = performance.now();
    const first = await timed(() => client.stacks.list());
    const login = () => connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });
    const later = await Promise.all([
      timed(() => client.stacks.list()),
      timed(() => client.queues.list()),
      timed(login, { code: 'Unavailable', message: expect.stringContaining(' (since ') as string }),
    ]);
    for (const tookMs of [first, ...later]) expect(tookMs).toBeLessThan(soonMs);
    const response = await fetch(`${url}/api/v1/overview`, { headers: { 'x-auth-token': token } });
    expect([response.status, Number(response.headers.get('retry-after'))]).toEqual([503, 5]);
    expect((await ended) - killed).toBeLessThan(soonMs);

    await server?.start();
    await eventually(async () => ((await client.stacks.list().catch(() => undefined)) ? true : undefined), {
      within: 120_000,
      what: 'the list of the stacks',
    });
  });
});
