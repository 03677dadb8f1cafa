/**
 * Two replicas of the notification service on a broker. One ends while events arrive, again and again, killed or
 * stopped, and the other continues: each event arrives, in order per subject, and none again that was saved as delivered
 * before.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostEvent } from '@anneal/contracts/events.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { subscriptionCreate } from '@anneal/contracts/calls/subscriptions.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { openBus } from '@anneal/bus/open.ts';
import { EventLog } from '@anneal/notification/events/event-log.ts';
import { openSubscriptions } from '@anneal/notification/documents/subscription.ts';
import { atEnd, cleanUpAll, listen, project } from '@anneal/notification/testing/world.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';

const mongodb = await findMongodb();
const rabbitmq = await findRabbitmq();
const nats = await findNats();
for (const found of [mongodb, rabbitmq, nats]) if ('missing' in found) process.stderr.write(`${found.missing}\n`);

const program = `
import { openBus } from '@anneal/bus/open.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';

const { BUS, STORE } = process.env;
const store = await openStore({ url: STORE });
const about = { newId: randomUUID, now: () => new Date() };
const plain = await createTestContext({ name: 'notification' });
const bus = await openBus({ url: BUS, source: 'anneal/notification', store, registry, log: plain.log, ...about });
const context = { ...plain, bus, store };
const running = await notificationService.start(context, readSettings(notificationService.settings, {
  ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
}));
process.once('SIGTERM', async () => {
  await running.stop();
  await bus.close();
  process.exit();
});
process.stdout.write('ready\\n');
setInterval(() => {}, 1000);
`;

const subjects = 10;
/** How one replica after the other ends. */
const ends = ['SIGKILL', 'SIGTERM', 'SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL'] as const;
const perRound = 30;
const hosts = { types: ['host.#'], subject_prefix: '' };

const cases = [
  { broker: 'RabbitMQ', found: rabbitmq, urlOf: (url: string, name: string) => `${url}?prefix=${name}.` },
  { broker: 'NATS', found: nats, urlOf: (url: string, name: string) => `${url}?prefix=${name}` },
];

afterAll(async () => {
  for (const found of [mongodb, rabbitmq, nats]) if (!('missing' in found)) await found.stop();
});
afterEach(cleanUpAll);

for (const { broker, found, urlOf } of cases) {
  describe.skipIf('missing' in found || 'missing' in mongodb)(`two replicas on ${broker}`, () => {
    it('deliver everything in order per subject while one after the other is killed or stopped', async () => {
      if ('missing' in found || 'missing' in mongodb) return;
      const name = `r${randomBytes(4).toString('hex')}`;
      const busUrl = urlOf(found.url, name);
      const storeUrl = databaseUrl(mongodb.url, `anneal_test_${name}`);
      atEnd(() => dropDatabase(storeUrl));
      const start = async (): Promise<ChildProcess> => {
        const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
          cwd: import.meta.dirname,
          env: { PATH: process.env['PATH'] ?? '', BUS: busUrl, STORE: storeUrl },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        atEnd(() => child.kill('SIGKILL'));
        await once(child.stdout, 'data');
        return child;
      };
      const replicas = [await start(), await start()];
      const store = await openStore({ url: storeUrl });
      atEnd(() => store.close());
      const plain = await createTestContext({ name: 'gateway' });
      atEnd(() => plain.dispose());
      const about = { newId: randomUUID, now: () => new Date(), log: plain.log };
      const bus = await openBus({ url: busUrl, source: 'anneal/test', store, registry, ...about });
      atEnd(() => bus.close());

      const listener = await listen();
      const subscription = { id: randomUUID(), project, name: 'r', url: listener.url, types: ['host.#'] };
      await bus.request({
        queue: requestsQueue('notification'),
        call: subscriptionCreate,
        message: plain.mint(subscriptionCreate, { data: { ...subscription, subject_prefix: '' }, project }),
      });
      const happen = async (version: number): Promise<void> => {
        const subject = `h${version % subjects}`;
        const data = { host_id: subject, name: subject, status: 'up', facts: {}, version };
        await bus.publish([plain.mint(hostEvent.up, { data, subject, project })]);
      };
      const seen = (): number => new Set(listener.received.map(({ event }) => event.data.version)).size;

      const documents = await openSubscriptions(store);
      const log = await EventLog.open({
        store,
        keep: Infinity,
        keepMs: Infinity,
        now: () => Date.now(),
        onKept: () => Promise.resolve(),
        onTrim: () => Promise.resolve(),
        onAppendFailed: () => undefined,
        onTrimFailed: () => undefined,
      });
      /** The highest version that is saved as delivered, together with all before it. */
      const saved = async (): Promise<number> => {
        const { cursor = 0 } = (await documents.get(subscription.id)) ?? {};
        const { events } = await log.read({ project, after: cursor, filter: hosts, limit: 1_000 });
        const unsaved = events.map(({ event }) => (event.data as { version: number }).version);
        return Math.min(version, ...unsaved.map((each) => each - 1));
      };

      let version = 0;
      const rounds: { before: number; requests: number }[] = [];
      const takeovers: number[] = [];
      for (const [round, end] of ends.entries()) {
        // An event that has not reached the log yet looks saved, so each must have arrived once.
        await eventually(async () => seen() === version && (await saved()) === version, {
          last: () => [seen(), version],
        });
        const before = version;
        for (let count = 0; count < perRound; count += 1) await happen((version += 1));
        await eventually(() => seen() > before + 3);
        const victim = replicas[round % 2];
        const gone = victim && once(victim, 'exit');
        victim?.kill(end);
        await gone;
        const killed = performance.now();
        const mark = seen();
        rounds.push({ before, requests: listener.received.length });
        for (let count = 0; count < perRound; count += 1) await happen((version += 1));
        await eventually(() => seen() > mark, { last: () => seen() });
        takeovers.push(Math.round(performance.now() - killed));
        replicas[round % 2] = await start();
      }
      await eventually(() => seen() === version, { within: 90_000, last: () => [seen(), version] });

      for (let host = 0; host < subjects; host += 1) {
        const versions = listener.received.flatMap(({ event }) =>
          event.subject === `h${host}` ? [event.data.version] : [],
        );
        // A listener ignores the events that it has seen. The others arrive in order.
        const first = versions.filter((each, index) => versions.indexOf(each) === index);
        expect(first).toEqual(first.toSorted((a, b) => a - b));
      }
      const twice = listener.received.length - version;
      process.stderr.write(`${broker}: takeover ${takeovers.join(', ')} ms; ${twice} of ${version} events twice\n`);
      for (const { before, requests } of rounds) {
        const later = listener.received.slice(requests).map(({ event }) => event.data.version);
        expect(later.filter((each) => each <= before)).toEqual([]);
      }
      expect(Math.max(...takeovers)).toBeLessThan(15_000);
    });
  });
}
