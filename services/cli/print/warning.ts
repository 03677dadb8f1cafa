/** Prints warnings about parts of a template that are accepted but probably not intended, beside the answer. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { TerminalOutput } from '../output.ts';
import { describeMistake } from './failure.ts';

export function printWarnings(output: TerminalOutput, warnings: readonly Mistake[] | undefined, file?: string): void {
  const { colors } = output;
  for (const warning of warnings ?? []) {
    output.note(`${colors.yellow('Warning:')} ${describeMistake(warning, { colors, file })}`);
  }
}
