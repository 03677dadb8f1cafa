/** Decides whether a stack ended as a command wanted. Pure. */
import type { Stack } from '@anneal/client/representation.ts';

type Ended = Pick<Stack, 'stack_status' | 'failures'>;

/** The action in a status: `UPDATE` of `UPDATE_IN_PROGRESS`. */
export const actionIn = (status: string): string => status.slice(0, status.indexOf('_'));

/**
 * Whether the action that a command waited for did not complete: it failed, it was rolled back, or another actor deleted
 * the stack. `wanted` is the action that the command began, or the first one that it saw. A rollback that begins by
 * itself keeps the failures that explain it, so a rollback with failures always follows a failed action.
 */
export function hasMissed({ stack_status: status, failures }: Ended, wanted: string): boolean {
  if (status.endsWith('_FAILED')) return true;
  const action = actionIn(status);
  if (action === 'ROLLBACK') return wanted !== action || failures.length > 0;
  return action === 'DELETE' && wanted !== action;
}
