/** The example listeners on real brokers: they receive events, also those that were published while they did not run. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { happened, mintTestMessage } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { installFromPypi, requirementsOf } from '../backends/pypi.ts';
import { findNats } from '../backends/nats.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { repository } from '../e2e/server.ts';

const examples = join(repository, 'examples', 'listeners');
const installed = await installFromPypi(await requirementsOf(examples));
const missing = 'missing' in installed ? installed.missing : undefined;
const python = 'missing' in installed ? '' : join(installed.bin, 'python');
if (missing !== undefined) process.stderr.write(`Skipped: the listeners. ${missing}\n`);

const name = `test-${randomBytes(4).toString('hex')}`;
const cases = [
  { broker: 'RabbitMQ', find: findRabbitmq, program: 'listen_rabbitmq.py', prefix: `${name}.`, lasting: '--queue' },
  { broker: 'NATS', find: findNats, program: 'listen_nats.py', prefix: name, lasting: '--durable' },
];

for (const { broker, find, program, prefix, lasting } of cases) {
  const found = missing === undefined ? await find() : { missing };
  const server = 'missing' in found ? undefined : found;
  describe.skipIf(server === undefined)(`the example listener on ${broker}`, () => {
    afterAll(() => server?.stop());

    /** Runs until it has printed this number of events; `ready` resolves when it listens. */
    const listen = (...words: string[]) => {
      const child = spawn(
        python,
        [join(examples, program), '--bus', server?.url ?? '', '--prefix', prefix, '--pattern', 'test.#', ...words],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      onTestFinished(() => void child.kill('SIGKILL'));
      let printed = '';
      child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const lines = (): string[] => printed.trimEnd().split('\n');
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      return {
        ready: () => eventually(() => lines()[0] === 'listening' || undefined, { last: () => printed }),
        events: async () => {
          expect(await ended, printed).toBe(0);
          return lines()
            .slice(1)
            .map((line) => JSON.parse(line) as object);
        },
      };
    };

    it('prints what happens, and with a durable queue what happened while it was away', async () => {
      const store = await openStore({ url: 'sqlite::memory:' });
      const bus = await openTestBus({ url: `${server?.url}?prefix=${prefix}`, store });
      onTestFinished(async () => {
        await bus.close();
        await store.close();
      });
      const events = [1, 2, 3].map((n) => mintTestMessage(happened, { data: { n }, subject: `s${n}` }));
      const publish = (index: number): Promise<void> => bus.publish(events.slice(index, index + 1));

      const [now, durable] = [listen('--count', '1'), listen('--count', '1', lasting, `listener-${name}`)];
      await Promise.all([now.ready(), durable.ready()]);
      await publish(0);
      expect(await now.events()).toEqual([events[0]]);
      expect(await durable.events()).toEqual([events[0]]);
      await publish(1);
      await publish(2);
      expect(await listen('--count', '2', lasting, `listener-${name}`).events()).toEqual(events.slice(1));
    });
  });
}
