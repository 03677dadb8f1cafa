/** When the host of a run took its request. Pure. */
import type { DeploymentState, MessageDocument } from '../../collections.ts';

/** A request behind the first of its host was taken with its claim. Undefined for one that no host has taken. */
export function takenAt({ taken_at, claimed_at }: MessageDocument): string | undefined {
  const at = taken_at ?? claimed_at;
  return at > 0 ? new Date(at).toISOString() : undefined;
}

/** Whether the record of a run has its acceptance, also that of an older version of this service. */
export const hasAcceptance = ({ accepted_at, accepted }: DeploymentState): boolean =>
  accepted_at !== undefined || accepted === true;
