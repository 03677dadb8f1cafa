/** A context for tests of a service: the real embedded bus and store in a separate folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { defaultEvaluation, type EvaluationLimits } from '@anneal/hot/limits.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { createMint } from '@anneal/contracts/envelope.ts';
import type { ServiceName } from '@anneal/contracts/queues.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { v7 } from 'uuid';
import { createSecrets } from './secrets/secrets.ts';
import type { ServiceContext } from './service/service.ts';

/** The context of a service under test. */
export interface TestContext extends ServiceContext {
  readonly directory: string;
  /** Closes everything that this context opened and removes its folder. */
  dispose(): Promise<void>;
}

/** The service under test, and what it shares with others. */
export interface TestContextOptions {
  name: ServiceName;
  /** Shared with another context; then this one does not close them. */
  bus?: Bus;
  store?: Store;
  /** Keeps the files of an earlier context, to test a restart. */
  directory?: string;
  gatewayUrl?: string;
  logLevel?: string;
  /** Default: the clock of the machine. */
  now?: () => Date;
  /** Default: those of the settings. */
  evaluationLimits?: EvaluationLimits;
}

/** A context on the embedded bus and store in a temporary folder. Dispose of it at the end of the test. */
export async function createTestContext(options: TestContextOptions): Promise<TestContext> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'anneal-test-')));
  const newId = (): string => v7();
  const now = options.now ?? ((): Date => new Date());
  const log = pino({ level: options.logLevel ?? 'silent' }, pino.destination({ fd: 2, sync: true }));
  const store = options.store ?? (await openStore({ url: `sqlite:${directory}/store.db` }));
  const bus =
    options.bus ??
    (await openBus({ url: `sqlite:${directory}/bus.db`, source: 'anneal/test', store, registry, newId, now, log }));
  const stopping = new AbortController();
  return {
    name: options.name,
    bus,
    store,
    log,
    metrics: new Registry(),
    mint: createMint({ source: `anneal/${options.name}`, newId, now }),
    newId,
    now,
    secrets: createSecrets([new Uint8Array(32).fill(7)]),
    gatewayUrl: options.gatewayUrl ?? 'http://127.0.0.1:1',
    dataDirectory: directory,
    region: 'RegionOne',
    evaluationLimits: options.evaluationLimits ?? defaultEvaluation,
    stopping: stopping.signal,
    directory,
    async dispose() {
      stopping.abort();
      if (!options.bus) await bus.close();
      if (!options.store) await store.close();
      if (!options.directory) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A store that reports each call of a collection before it runs. */
export const notingStore = (
  store: Store,
  note: (call: { collection: string; method: string; given: readonly unknown[] }) => void,
): Store => ({
  blobs: store.blobs,
  check: () => store.check(),
  close: () => store.close(),
  collection: async (definition) =>
    new Proxy(await store.collection<never>(definition), {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...given: unknown[]) => {
          note({ collection: definition.name, method: String(name), given });
          return Reflect.apply(method, target, given) as unknown;
        };
      },
    }),
});

/** How `eventually` waits between two reads. A quick clock replaces it. */
export const waiting = {
  pause: (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 10)),
};

/**
 * Waits until `read` returns a value other than undefined and false. Tests wait for facts, never for time: the deadline only serves the failure, which
 * prints the last state seen.
 */
export async function eventually<T>(
  read: () => Promise<T | false | undefined> | T | false | undefined,
  options: { within?: number; what?: string; last?: () => unknown } = {},
): Promise<T> {
  const { within = 60_000, what = 'the condition', last } = options;
  const end = performance.now() + within;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) {
      throw new Error(`${what} did not become true within ${within} ms; last state: ${JSON.stringify(last?.())}`);
    }
    await waiting.pause();
  }
}
