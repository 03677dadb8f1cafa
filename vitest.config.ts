import { defineConfig } from 'vitest/config';

const project = (name: string, include: string[], testTimeout: number, globalSetup: string[] = []) => ({
  test: { name, include, testTimeout, hookTimeout: testTimeout, globalSetup },
});
/** Real brokers and databases. */
const backends = ['test/backends/prepare.ts'];

const soak = process.env['ANNEAL_TEST_SOAK'];

export default defineConfig({
  test: {
    projects: [
      project('unit', ['{libs,services,deploy}/**/*.test.ts', 'test/docs/*.test.ts'], 30_000),
      project('contract', ['{libs,services,deploy,test}/**/*.contract.ts'], 120_000, backends),
      project('integration', ['test/integration/**/*.test.ts'], 300_000),
      project('e2e', ['test/e2e/**/*.test.ts'], 300_000),
      project('chaos', ['test/chaos/**/*.test.ts'], 300_000),
      // The product on real brokers and databases, and their deaths, on request: `short` takes minutes, `true` an hour.
      ...(soak === 'true' ? [project('soak', ['test/{e2e,chaos}/**/*.soak.ts'], 300_000, backends)] : []),
      ...(soak === 'short'
        ? [
            project(
              'soak',
              ['test/chaos/*.soak.ts', 'test/e2e/{dead-letters,shard-growth,distributed-outage,slow-database}.soak.ts'],
              300_000,
              backends,
            ),
          ]
        : []),
      ...(soak === 'true'
        ? // The scenarios of e2e once more, on each broker and a database; what rests in files is looked at on embedded.
          ['rabbitmq', 'nats'].map((broker) => ({
            test: {
              ...project(broker, ['test/e2e/**/*.test.ts'], 300_000, backends).test,
              exclude: ['test/e2e/secrets.test.ts'],
              env: { ANNEAL_TEST_BROKER: broker },
            },
          }))
        : []),
    ],
  },
});
