import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { loadKeys } from '../secrets/keys.ts';
import { createLog } from '../observe/log.ts';
import { startServices, type RunningServices } from './serve.ts';
import { defineService } from './service.ts';

let data: string;
let running: RunningServices | undefined;
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'anneal-runtime-'));
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await rm(data, { recursive: true, force: true });
});

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

/** Answers resource-type.list, and is broken when the state says so. */
const service = (state: { broken?: string; stopped?: boolean }) =>
  defineService({
    name: 'templating',
    settings: {
      greeting: { env: 'ANNEAL_TEMPLATING_GREETING', schema: z.string().default('hello'), meaning: 'A greeting.' },
    },
    async start(context) {
      const consumer = await context.bus.consume(
        requestsQueue('templating'),
        routeMessages([answer(context, resourceTypeList, async () => ({ types: [] }))]),
      );
      return {
        async check() {
          if (state.broken) throw new Error(state.broken);
        },
        async stop() {
          state.stopped = true;
          await consumer.stop();
        },
      };
    },
  });
const start = (state: { broken?: string; stopped?: boolean }, environment: Record<string, string> = {}) =>
  startServices({ services: [service(state)], environment: { ANNEAL_DATA: data, ...environment }, log });

describe('a process of a service', () => {
  it('is live, is ready when its dependencies are, reports why when it is not, and counts handled messages', async () => {
    const state: { broken?: string } = {};
    running = await start(state);
    const get = async (path: string) => {
      const response = await fetch(`${running?.healthUrl}${path}`);
      return { status: response.status, text: await response.text() };
    };
    expect(await get('/health/live')).toMatchObject({ status: 200 });
    expect(await get('/health/ready')).toMatchObject({ status: 200 });
    state.broken = 'the disk is full';
    const ready = await get('/health/ready');
    expect(ready.status).toBe(503);
    expect(JSON.parse(ready.text)).toMatchObject({
      ready: false,
      checks: { templating: 'the disk is full', bus: 'ok' },
    });
    const metrics = await get('/metrics');
    expect(metrics.text).toContain('anneal_message_handling_seconds');
    expect((await get('/other')).status).toBe(404);
  });

  it('stops its services only once', async () => {
    const state: { stopped?: boolean } = {};
    running = await start(state);
    await Promise.all([running.stop(), running.stop()]);
    expect(state.stopped).toBe(true);
  });

  it('waits for a service that does not stop as long as the setting says', async () => {
    const stuck = defineService({
      name: 'templating',
      settings: {},
      start: async () => ({ stop: () => new Promise<void>(() => {}) }),
    });
    const environment = { ANNEAL_DATA: data, ANNEAL_STOP_SECONDS: '0.1' };
    running = await startServices({ services: [stuck], environment, log });
    // Longer than the limit of this test with the default, ten seconds, only if the setting had no effect.
    const began = performance.now();
    await running.stop();
    expect(performance.now() - began).toBeLessThan(9000);
  });

  it('refuses unknown settings, but accepts those of another service', async () => {
    await expect(start({}, { ANNEAL_TEMPLATING_GREETNG: 'x' })).rejects.toThrow('ANNEAL_TEMPLATING_GREETING');
    running = await start({}, { ANNEAL_GATEWAY_PORT: '1' });
  });

  it('gives its services the limits of evaluation that the operator sets, and those of Heat without a setting', async () => {
    const limitsWith = async (environment: Record<string, string>): Promise<EvaluationLimits | undefined> => {
      let found: EvaluationLimits | undefined;
      const noting = defineService({
        name: 'templating',
        settings: {},
        async start({ evaluationLimits }) {
          found = evaluationLimits;
          return { stop: async () => undefined };
        },
      });
      running = await startServices({ services: [noting], environment: { ANNEAL_DATA: data, ...environment }, log });
      await running.stop();
      return found;
    };
    expect(await limitsWith({})).toEqual({ elements: 200, memory: 10_000, work: 5_000_000 });
    const raised = {
      ANNEAL_YAQL_LIMIT_ITERATORS: '10000',
      ANNEAL_YAQL_MEMORY_QUOTA: '1000000',
      ANNEAL_EVALUATION_WORK: '9000000',
    };
    expect(await limitsWith(raised)).toEqual({ elements: 10_000, memory: 1_000_000, work: 9_000_000 });
  });

  it('closes everything when its service cannot start', async () => {
    const failing = defineService({
      name: 'gateway',
      settings: {},
      start: () => Promise.reject(new Error('no port')),
    });
    const options = { environment: { ANNEAL_DATA: data }, log };
    await expect(startServices({ ...options, services: [service({}), failing] })).rejects.toThrow('no port');
    // The embedded broker takes one process at a time: opening it again proves that it was closed.
    running = await start({});
  });
});

describe('sealing keys', () => {
  it('are created once, readable only by their owner, and reused at the next start', async () => {
    const [first, second] = await Promise.all([
      loadKeys({ setting: undefined, dataDirectory: data }),
      loadKeys({ setting: undefined, dataDirectory: data }),
    ]);
    expect(first).toEqual(second);
    expect((await stat(join(data, 'keys'))).mode & 0o777).toBe(0o600);
  });
});

describe('the log', () => {
  it('redacts fields with secret-like names', () => {
    log.info(
      { password: 'hunter2', headers: { 'x-auth-token': 'hunter2' }, deep: { inner: { token: 'hunter2' } } },
      'x',
    );
    expect(lines.at(-1)).not.toContain('hunter2');
  });
});
