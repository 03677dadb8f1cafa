/** The single executable. Its delivery guarantees are tested with those of the other agents, in test/system/agents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runtimes } from './executable.ts';

it('contains the version of Node that the services run on', () => {
  const root = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    dependencies: { node: string };
  };
  expect(runtimes.version).toBe(root.dependencies.node);
});
