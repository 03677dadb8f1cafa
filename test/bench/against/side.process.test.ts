import { describe, expect, it } from 'vitest';
import { repository } from '../../e2e/server.ts';
import type { BenchOptions } from '../report.ts';
import { commandOf, runSide } from './side.ts';

const options: BenchOptions = {
  quick: true,
  say: () => undefined,
  backend: undefined,
  hosts: undefined,
  rounds: 3,
  server: repository,
};
const earlier = { name: 'earlier', folder: '/earlier' };

describe('a side of a comparison', () => {
  it('runs the bench of these sources with the server of the earlier ones', () => {
    const { folder, words } = commandOf({ name: 'stack', measures: 'server' }, earlier, options);
    expect(folder).toBe(repository);
    expect(words).toEqual([
      'test/bench/main.ts',
      'stack',
      '--json',
      '--quick',
      '--rounds',
      '1',
      '--server',
      '/earlier',
    ]);
  });

  it('runs the own bench of the earlier sources, with options that they know, when the bench imports what it measures', () => {
    const { folder, words } = commandOf({ name: 'engine', measures: 'sources' }, earlier, options);
    expect(folder).toBe('/earlier');
    expect(words).toEqual(['test/bench/main.ts', 'engine', '--json', '--quick']);
  });

  it('reports the status and the output of a bench that fails', async () => {
    const command = { folder: repository, words: ['test/bench/main.ts', 'no-such-bench'] };
    const { rows } = runSide(command, { temporary: '/tmp', say: () => undefined });
    await expect(rows).rejects.toThrow(/ended with 2: [^]*--against REVISION/);
  });
});
