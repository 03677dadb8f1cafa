/**
 * Asks on a terminal before a command destroys something, as `gh` does. Without a terminal it does not
 * ask, as `kubectl` does not: scripts need no option.
 */
import { Option } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { Declined } from '../exit.ts';

export const yesOption = () => new Option('-y, --yes', 'do not ask, as without a terminal');

/** `what` describes the loss. It is read only for a question. @throws Declined unless the answer is yes */
export async function confirm(
  { ask, output }: Pick<CliContext, 'ask' | 'output'>,
  { yes, what }: { yes: boolean | undefined; what: () => Promise<readonly string[]> | readonly string[] },
): Promise<void> {
  if (yes || !ask) return;
  for (const line of await what()) output.note(line);
  const answer = await ask('Continue? [y/N] ');
  if (!/^(y|yes)$/i.test(answer?.trim() ?? '')) throw new Declined();
}
