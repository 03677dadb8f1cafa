/** SIGKILL ends the service between two lines, and another process continues with its data. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { expect, it } from 'vitest';

/** Starts the service in a process of its own; the first one also subscribes and lets six events happen. */
const program = `
import { armFromText } from '@anneal/runtime/fault.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { subscriptionCreate } from '@anneal/contracts/calls/subscriptions.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { notificationService } from './service.ts';

const { DIRECTORY, FAULT, HOOK, MORE = '{}', AHEAD_MS = '0' } = process.env;
if (FAULT) armFromText(FAULT);
const context = await createTestContext({
  name: 'notification',
  directory: DIRECTORY,
  now: () => new Date(Date.now() + Number(AHEAD_MS)),
});
const settings = readSettings(notificationService.settings, {
  ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
  ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1,0.1,0.1,0.1',
});
await notificationService.start(context, settings);
if (HOOK) {
  const project = 'p';
  const data = { id: 's1', project, name: '', url: HOOK, types: ['#'], subject_prefix: '', ...JSON.parse(MORE) };
  await context.bus.request({
    queue: requestsQueue('notification'),
    call: subscriptionCreate,
    message: context.mint(subscriptionCreate, { data, project }),
  });
  await context.bus.publish([1, 2, 3, 4, 5, 6].map((version) => context.mint(hostEvent.up, {
    project,
    subject: 'h',
    data: { host_id: 'h', name: 'h', status: 'up', facts: {}, version },
  })));
  process.stdout.write('published');
}
setInterval(() => {}, 1000);
`;

/** The clock of the second process is ahead, so that the times of the first one are over. */
const aMinute = '60000';
const run = (environment: Record<string, string>) =>
  spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
    cwd: import.meta.dirname,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** The listener refuses the second event once, so that it is stored as a delivery of its own. */
const faults = [
  'notification.sent:kill:1',
  'notification.sent:kill:3',
  'notification.filed:kill:1',
  'notification.saved:kill:1',
];

for (const fault of faults) {
  it(`P1, P2: delivers every event in order after a kill at ${fault}`, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-kill-'));
    const received: number[] = [];
    let isRefusedOnce = false;
    const listener = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { version } = (JSON.parse(body) as { data: { version: number } }).data;
        const isRefused = version === 2 && !isRefusedOnce;
        isRefusedOnce ||= isRefused;
        if (!isRefused) received.push(version);
        response.writeHead(isRefused ? 400 : 204).end();
      });
    });
    await new Promise<void>((resolve) => {
      listener.listen(0, '127.0.0.1', resolve);
    });
    const hook = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
    const first = run({ DIRECTORY: directory, HOOK: hook, FAULT: fault });
    const signal = await new Promise((resolve) => {
      first.on('exit', (_code, by) => resolve(by));
    });
    expect(signal).toBe('SIGKILL');
    const second = run({ DIRECTORY: directory, AHEAD_MS: aMinute });
    try {
      await eventually(() => (new Set(received).size === 6 ? true : undefined), {
        last: () => received,
      });
      // A listener ignores the events that it has seen. The others arrive in order.
      const once = received.filter((version, index) => !received.slice(0, index).includes(version));
      expect(once).toEqual([1, 2, 3, 4, 5, 6]);
    } finally {
      const gone = new Promise((resolve) => {
        second.on('exit', resolve);
      });
      second.kill('SIGKILL');
      await gone;
      listener.closeAllConnections();
      listener.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
}

it('loses no event of a window that a kill interrupts', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'anneal-kill-'));
  const digests: { count: number; events: { data: { version: number } }[] }[] = [];
  const listener = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      digests.push((JSON.parse(body) as { data: (typeof digests)[number] }).data);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  const more = JSON.stringify({ condense: 'digest', window_seconds: 3 });
  const HOOK = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
  const processes = [run({ DIRECTORY: directory, HOOK, MORE: more })];
  const ended = (child: (typeof processes)[number]) => new Promise((resolve) => child.once('exit', resolve));
  try {
    const [first] = processes as [(typeof processes)[number]];
    await new Promise((resolve) => first.stdout.once('data', resolve));
    const gone = ended(first);
    first.kill('SIGKILL');
    await gone;
    processes.push(run({ DIRECTORY: directory, AHEAD_MS: aMinute }));
    const versions = await eventually(
      () => {
        const all = digests.flatMap(({ events }) => events.map(({ data }) => data.version));
        return new Set(all).size === 6 ? all : undefined;
      },
      { last: () => digests },
    );
    expect(versions).toEqual([1, 2, 3, 4, 5, 6]);
    expect(digests.map(({ count }) => count)).toEqual([6]);
  } finally {
    const left = processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const gone = Promise.all(left.map(ended));
    for (const each of left) each.kill('SIGKILL');
    await gone;
    listener.closeAllConnections();
    listener.close();
    await rm(directory, { recursive: true, force: true });
  }
});
