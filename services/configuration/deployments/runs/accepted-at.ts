/** Reads when the host of a run took its request. */
import { takenAt } from '../decisions/acceptance.ts';
import type { RunContext } from './run-context.ts';

/** When the host took the request of a run that is not recorded as accepted. Reads only what this process has not noted. */
export async function acceptedAt(
  { acceptances, collections }: Pick<RunContext, 'acceptances' | 'collections'>,
  run: string,
): Promise<string | undefined> {
  const known = acceptances.timeOf(run);
  if (known !== undefined) return known;
  const message = await collections.messages.get(run);
  return message && takenAt(message);
}
