import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createBus } from '../bus.ts';
import { silent } from '../conformance/messages.ts';
import { openEmbeddedBroker } from '../embedded/open.ts';
import type { Bus, Death } from '../port.ts';

const about = { source: 'anneal/test', newId: randomUUID, now: () => new Date(), log: silent };
let bus: Bus;
let close: () => Promise<void>;
let sendRaw: (queue: string, message: object) => Promise<void>;

beforeEach(async () => {
  const store = await openStore({ url: 'sqlite::memory:' });
  const broker = await openEmbeddedBroker({ ...about, url: 'sqlite::memory:' });
  bus = createBus({ ...about, broker, store, registry });
  sendRaw = (queue, message) =>
    broker.send({ queue, packets: [{ type: '', bytes: Buffer.from(JSON.stringify(message)) }] });
  close = async () => {
    await bus.close();
    await store.close();
  };
});
afterEach(() => close());

/**
 * The state that each request keeps in progress, besides that of its requester. The named test of the service proves
 * that a death ends that state.
 */
const waits: Readonly<Record<string, string>> = {
  'resource.create': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.update': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.delete': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.check': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.suspend': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.resume': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.snapshot': 'resource: services/scheduling/stacks/death.service.test.ts',
  'resource.signal': 'none; the signal is announced as failed: services/scheduling/stacks/death.service.test.ts',
  'resource.cancel': 'resource, as its pending request: services/scheduling/stacks/death.service.test.ts',
  'resource.withdraw': 'none; the work goes on: services/scheduling/stacks/death.service.test.ts',
  'resource.response': 'resource: services/scheduling/stacks/death.service.test.ts',
  'request.died': 'stack: services/scheduling/stacks/death.service.test.ts',
  'timer.fired': 'stack: services/scheduling/stacks/death.service.test.ts',
  'stack.create': 'stack: services/scheduling/stacks/death.service.test.ts',
  'boot.report': 'node: services/provisioning/boot/boots.service.test.ts',
  'host.message.refused': 'deployment: services/configuration/deployments/deployment.service.test.ts',
  'group.adjust': 'none: the group keeps its size',
  'group.lost': 'none: the group keeps the member until its host falls silent again',
  'replay.ended': 'none: it is never in a queue',
  'provider.announced': 'none: the types are those of before, and the next start announces them again',
};

it('every message that is not a question is listed with the effect of its dead letter', () => {
  const others = [...registry.values()].filter(({ kind }) => kind === 'message').map(({ type }) => type);
  expect(others.filter((type) => !Object.hasOwn(waits, type))).toEqual([]);
  expect(Object.keys(waits).filter((type) => !registry.has(type))).toEqual([]);
});

/** A message that any queue accepts. */
const one = () => ({
  specversion: '1.0',
  source: 'test',
  time: new Date().toISOString(),
  correlationid: 'c',
  id: 'one',
  type: timerFired.type,
  subject: 'thing',
  data: { stack_id: 'thing', timer: 'deadline', traversal: 't' },
});
const requests = [...registry.values()].filter(({ kind }) => kind !== 'event').map(({ type }) => type);

it('the requester is notified for every type of request, whether its handler failed or its bytes were unreadable', async () => {
  const deaths: Death[] = [];
  const handler = (): Promise<void> => Promise.reject(new AnnealError('Defect', 'broken'));
  await bus.consume('work', handler, { onDeath: async (death) => void deaths.push(death) });
  const notified: Envelope[] = [];
  await bus.consume('asker', async ({ message }) => void notified.push(message));
  for (const type of requests) {
    const time = new Date().toISOString();
    const rest = { specversion: '1.0', source: 'test', time, correlationid: 'c', replyto: 'asker', subject: 'thing' };
    await sendRaw('work', { ...rest, id: type, type, data: {} });
  }
  await vi.waitFor(() => expect(notified).toHaveLength(requests.length));
  const letters = await bus.deadLetters.list({ limit: 500 });
  const byRequest = new Map(letters.map(({ id, bytes }) => [(JSON.parse(bytes) as Envelope).type, id]));
  const named = notified.map(({ data }) => data as { dead_letter: string; request: { id: string; subject: string } });
  expect(new Map(named.map(({ request, dead_letter: letter }) => [request.id, letter]))).toEqual(byRequest);
  expect(named.every(({ request }) => request.subject === 'thing')).toBe(true);
  expect(new Set(deaths.map(({ message }) => message?.type))).toEqual(new Set(requests));
});

it.each<[string, () => unknown]>([
  ['TypeError', () => (undefined as unknown as { length: number }).length],
  ['RangeError', () => 'x'.repeat(-1)],
  ['SyntaxError', () => JSON.parse('{')],
  ['ZodError', () => z.string().parse(1)],
])('a message becomes a dead letter at once when its handler throws a %s', async (_, broken) => {
  const deaths: Death[] = [];
  const attempts: number[] = [];
  const handler = async ({ attempt }: { attempt: number }): Promise<void> => {
    attempts.push(attempt);
    await Promise.resolve(broken());
  };
  await bus.consume('work', handler, { maxAttempts: 40, onDeath: async (death) => void deaths.push(death) });
  await sendRaw('work', one());
  await vi.waitFor(() => expect(deaths).toHaveLength(1));
  expect(attempts).toEqual([1]);
  expect(deaths[0]!.failure).toMatchObject({ code: 'Defect', details: { dead_letter: deaths[0]!.letter } });
});

it.each<[string, Error, number]>([
  ['8 attempts for an error without a name', new Error('what?'), 8],
  ['all attempts for one of the system', Object.assign(new Error('disk'), { code: 'ENOSPC' }), 12],
  ['8 attempts for a broken request over HTTP', new TypeError('fetch failed', { cause: new Error('ECONNRESET') }), 8],
  ['all attempts for one of ours that may pass', new AnnealError('Unavailable', 'later'), 12],
])('gives %s', async (_, error, most) => {
  const deaths: Death[] = [];
  let attempts = 0;
  const handler = (): Promise<void> => {
    attempts += 1;
    return Promise.reject(error);
  };
  const onDeath = async (death: Death): Promise<void> => void deaths.push(death);
  await bus.consume('work', handler, { maxAttempts: 12, backoff: () => 0, onDeath });
  await sendRaw('work', one());
  await vi.waitFor(() => expect(deaths).toHaveLength(1));
  expect(attempts).toBe(most);
});
