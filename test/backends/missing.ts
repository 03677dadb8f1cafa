/** Tests that need something which a machine may lack: they are skipped with the reason, and in CI they fail. */
import type { TestContext } from 'vitest';

const mustRun = process.env['CI'] === 'true';

/**
 * Prints on standard error that tests are skipped, and why.
 * @param what is not tested, after "Skipped: "
 * @param missing the reason; undefined when nothing is missing
 * @throws Error in CI, where everything must be tested
 */
export function reportSkipped(what: string, missing: string | undefined): void {
  if (missing === undefined) return;
  if (mustRun) throw new Error(`Cannot test ${what}: ${missing}`);
  process.stderr.write(`Skipped: ${what}. ${missing}\n`);
}

/**
 * Skips the running test, and shows why in its line of the report.
 * @throws Error in CI, where everything must be tested
 */
export function skipWithout({ skip }: Pick<TestContext, 'skip'>, missing: string | undefined): void {
  if (missing === undefined) return;
  if (mustRun) throw new Error(missing);
  skip(missing);
}
