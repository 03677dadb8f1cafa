import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** The machine may be busy. The default is a second. */
const patient = { poll: { timeout: 20_000, interval: 20 } };

const project = (name: string, include: string[], testTimeout: number, globalSetup: string[] = []) => ({
  test: { name, include, testTimeout, hookTimeout: testTimeout, globalSetup, expect: patient },
});
/** Real brokers and databases. */
const backends = ['test/backends/prepare.ts'];

const soak = process.env['ANNEAL_TEST_SOAK'];

export default defineConfig({
  test: {
    // Most tests wait for brokers, databases and timers, so three of them share two cores well.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    reporters: ['default', './test/unfinished.ts'],
    // A broker that is gone fails every test of its file at the time limit of that test.
    bail: process.env['CI'] ? 5 : 0,
    projects: [
      project('unit', ['{libs,services,deploy}/**/*.test.ts', 'test/{docs,bench}/**/*.test.ts'], 30_000),
      project('contract', ['{libs,services,deploy,test}/**/*.contract.ts'], 120_000, backends),
      project('integration', ['test/integration/**/*.test.ts'], 300_000),
      project('e2e', ['test/e2e/**/*.test.ts'], 300_000, ['test/e2e/console/prepare.ts']),
      project('chaos', ['test/chaos/**/*.test.ts'], 300_000),
      // Programs that others wrote, from PyPI and Debian: `npm run test:programs`.
      project('programs', ['test/programs/**/*.test.ts'], 300_000, backends),
      // On request: the product on real brokers and databases, which are killed. `short` takes minutes, `true` an hour.
      ...(soak === 'true' ? [project('soak', ['test/{e2e,chaos}/**/*.soak.ts'], 300_000, backends)] : []),
      ...(soak === 'short'
        ? [
            project(
              'soak',
              [
                'test/chaos/*.soak.ts',
                'test/e2e/soak/{dead-letters,shard-growth,distributed-outage,slow-database,restore,start}.soak.ts',
              ],
              300_000,
              backends,
            ),
          ]
        : []),
      ...(soak === 'true'
        ? // The scenarios of e2e again, on each broker and a database. The test of secrets in files needs the embedded store.
          ['rabbitmq', 'nats'].map((broker) => ({
            test: {
              ...project(broker, ['test/e2e/**/*.test.ts'], 300_000, backends).test,
              exclude: ['test/e2e/{secrets,backup}.test.ts'],
              env: { ANNEAL_TEST_BROKER: broker },
            },
          }))
        : []),
      ...(soak === 'true'
        ? // The listeners of other programs beside one process per service.
          ['rabbitmq', 'nats'].map((broker) => ({
            test: {
              ...project(`listeners-${broker}`, ['test/e2e/{paas,foreign}-listener.test.ts'], 600_000, backends).test,
              env: { ANNEAL_TEST_BROKER: broker, ANNEAL_TEST_SEPARATE: 'true' },
            },
          }))
        : []),
    ],
  },
});
