/** When the host of a run took its request. */
import type { DeploymentState, MessageDocument } from '../../collections.ts';
import type { RunContext } from './run-context.ts';

/** A request behind the first of its host was taken with its claim. Undefined for one that no host has taken. */
export function takenAt({ taken_at, claimed_at }: MessageDocument): string | undefined {
  const at = taken_at ?? claimed_at;
  return at > 0 ? new Date(at).toISOString() : undefined;
}

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

/** Whether the record of a run has its acceptance, also that of an older version of this service. */
export const hasAcceptance = ({ accepted_at, accepted }: DeploymentState): boolean =>
  accepted_at !== undefined || accepted === true;
