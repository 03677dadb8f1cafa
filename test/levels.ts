/**
 * The levels of `npm test`: their budgets, and what a test of each may use. The reporter prints at the end of a run what each
 * level took.
 */
import type { Reporter, TestModule } from 'vitest/node';

interface Level {
  readonly name: string;
  /** Seconds of its files in all, on two quiet processors. Four workers share them: less than eight minutes. */
  readonly budget: number;
  /** Modules and folders that no file of the level reaches by its imports, however deep. */
  readonly reaches: RegExp;
  /** Modules that its test files do not import themselves. */
  readonly imports: RegExp;
}

const nothing = /^$/;
const product = /^test\/(?:e2e|backends|process|agents|programs)\//;

/** The levels, from the cheapest on. */
export const testLevels: readonly Level[] = [
  {
    name: 'pure',
    budget: 120,
    reaches: /^(?:node:(?:sqlite|child_process|https?|http2|worker_threads)$|test\/(?:e2e|backends|system|process)\/)/,
    imports: /^node:(?:fs|fs\/promises|net|tls|dgram|timers\/promises)$/,
  },
  {
    name: 'service',
    budget: 350,
    reaches: new RegExp(`${product.source}|^test/system/`),
    imports: /^node:child_process$/,
  },
  { name: 'system', budget: 580, reaches: /^test\/e2e\/server\.ts$/, imports: nothing },
  { name: 'process', budget: 720, reaches: nothing, imports: nothing },
];

const secondsOf = (modules: readonly TestModule[]): number => {
  const parts = modules.map((module) => {
    const { collectDuration, duration, setupDuration, environmentSetupDuration, prepareDuration } = module.diagnostic();
    return collectDuration + duration + setupDuration + environmentSetupDuration + prepareDuration;
  });
  return parts.reduce((sum, each) => sum + each, 0) / 1000;
};

export default class LevelReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = testLevels.flatMap(({ name, budget }) => {
      const own = modules.filter(({ project }) => project.name === name);
      if (own.length === 0) return [];
      const seconds = secondsOf(own);
      const over = seconds > budget ? '  over its budget' : '';
      const [files, spent, most] = [String(own.length), seconds.toFixed(0), String(budget)];
      return `${name.padEnd(8)} ${files.padStart(4)} files ${spent.padStart(6)} s of ${most.padStart(4)} s${over}`;
    });
    if (rows.length > 0) process.stdout.write(`\nLevels, seconds of all their files:\n${rows.join('\n')}\n`);
  }
}
