/**
 * The tests in levels, by what they may use. `npm test` runs the levels; `npm run test:full` runs the rest in parts, one
 * project each. CONTRIBUTING.md says to which level a new test belongs.
 */
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { patience } from './test/patience.ts';

/**
 * Limits of time only end what hangs: the machine may be as busy as it likes. A test states a limit of its own only when it
 * needs a longer one; `test/docs/levels.service.test.ts` refuses a shorter one.
 */
const patient = { poll: patience };

interface Wanted {
  readonly include: string[];
  readonly exclude?: string[];
  readonly timeout: number;
  readonly setup?: string[];
  readonly env?: Record<string, string>;
  /** Its files share the modules that they load, so each is loaded once a worker. They must leave no state behind. */
  readonly shared?: boolean;
}

/** No test can reboot the machine that runs it: programs that refuse come before those of the machine. */
const safePath = [join(import.meta.dirname, 'test/no-reboot'), process.env['PATH'] ?? '/usr/bin:/bin'].join(delimiter);

const project = (name: string, { include, exclude = [], timeout, setup = [], env = {}, shared = false }: Wanted) => ({
  test: {
    name,
    include,
    exclude,
    testTimeout: timeout,
    hookTimeout: timeout,
    globalSetup: setup,
    env: { PATH: safePath, ...env },
    expect: patient,
    setupFiles: ['test/patient-waits.ts'],
    ...(shared && { isolate: false }),
  },
});

/** Real brokers and databases. */
const backends = ['test/backends/prepare.ts'];
const browser = ['test/e2e/console/prepare.ts'];
const code = '{libs,services,deploy,test}/**';

const levels = [
  project('pure', {
    include: [`${code}/*.test.ts`],
    exclude: [`${code}/*.{service,process}.test.ts`, 'test/{system,process,e2e,chaos,programs,agents,machines}/**'],
    timeout: 180_000,
    shared: true,
  }),
  project('service', {
    include: [`${code}/*.service.test.ts`, '{libs,services}/**/*.contract.ts'],
    timeout: 180_000,
    shared: true,
  }),
  project('system', { include: ['test/system/**/*.test.ts'], timeout: 300_000, shared: true }),
  project('process', {
    include: [`${code}/*.process.test.ts`, 'test/process/*.test.ts', 'test/conformance/*.contract.ts'],
    timeout: 300_000,
    setup: [...backends, ...browser],
  }),
];

const scenarios = {
  include: ['test/e2e/{,canary/,imports/}*.test.ts'],
  exclude: ['test/e2e/pages.test.ts'],
  timeout: 300_000,
};
const parts = [
  ...['rabbitmq', 'nats', 'mongodb', 'together'].map((name) =>
    project(name, { include: [`test/conformance/${name}/*.contract.ts`], timeout: 300_000, setup: backends }),
  ),
  project('scenarios', { ...scenarios, setup: browser }),
  project('console', { include: ['test/e2e/console/*.test.ts'], timeout: 300_000, setup: browser }),
  project('pages', { include: ['test/e2e/pages.test.ts'], timeout: 300_000, setup: browser }),
  project('agents', { include: ['test/agents/*.test.ts'], timeout: 300_000 }),
  project('chaos', { include: ['test/chaos/*.test.ts'], timeout: 300_000 }),
  // Real firmware in QEMU.
  project('machines', { include: ['test/machines/*.test.ts'], timeout: 300_000 }),
  // Programs that others wrote, from PyPI and Debian.
  project('programs', { include: ['test/programs/**/*.test.ts'], timeout: 300_000, setup: backends }),
  // `npm run soak` sets how long they take.
  project('soak', { include: ['test/{e2e,chaos}/**/*.soak.ts'], timeout: 300_000, setup: backends }),
  ...['rabbitmq', 'nats'].flatMap((broker) => [
    project(`scenarios-${broker}`, {
      ...scenarios,
      setup: [...backends, ...browser],
      env: { ANNEAL_TEST_BROKER: broker },
    }),
    // The listeners of other programs beside one process per service.
    project(`listeners-${broker}`, {
      include: ['test/e2e/{paas,foreign}-listener.test.ts'],
      timeout: 600_000,
      setup: backends,
      env: { ANNEAL_TEST_BROKER: broker, ANNEAL_TEST_SEPARATE: 'true' },
    }),
  ]),
];

export default defineConfig({
  test: {
    // Most tests wait for brokers, databases and timers, so four of them share two cores well.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    reporters: ['default', './test/unfinished.ts', './test/levels.ts'],
    // A broker that is gone fails every test of its file at the time limit of that test.
    bail: process.env['CI'] ? 5 : 0,
    projects: [...levels, ...parts],
  },
});
