/** Exit statuses: 0 done, 1 failed, 2 refused (usage or input), 130 interrupted by the user. */
import type { Stack } from '@anneal/client/representation.ts';
import { AnnealError, errorTable, type ErrorCode } from '@anneal/contracts/errors.ts';

export const exitCodes = { done: 0, failed: 1, refused: 2, interrupted: 130 } as const;

/** The action of a stack failed. The command itself succeeded, so this is not an error of the command. */
export class StackFailed extends Error {
  override readonly name = 'StackFailed';
  readonly failed: Stack;

  constructor(stack: Stack) {
    super(`Stack ${stack.stack_name} failed: ${stack.stack_status}`);
    this.failed = stack;
  }
}

const refusals: ReadonlySet<ErrorCode> = new Set([
  'InvalidTemplate',
  'InvalidRequest',
  'NotSupported',
  'TooLarge',
  'QuotaExceeded',
]);

export function exitCodeOf(error: unknown): number {
  if (error instanceof AnnealError) {
    return refusals.has(error.code) && errorTable[error.code].status < 500 ? exitCodes.refused : exitCodes.failed;
  }
  return exitCodes.failed;
}
