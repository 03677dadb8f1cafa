/** The worker of the pool's test: runs the requested function. */
import { getCompileCacheDir } from 'node:module';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { serveJobs } from './worker-thread.ts';

const run: Record<string, (argument: unknown) => unknown> = {
  echo: (argument) => argument,
  refuse: (argument) => {
    throw new AnnealError('InvalidTemplate', String(argument));
  },
  compiledIn: () => getCompileCacheDir(),
  environment: () => Object.keys(process.env),
  spin: () => {
    for (;;);
  },
  fill: () => {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => index + Math.random()));
  },
};

serveJobs((ask) => async (task) => {
  const [name, argument] = task as [string, unknown];
  if (name === 'ask') return ask(argument);
  return run[name]?.(argument);
});
