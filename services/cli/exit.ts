/** Exit statuses: 0 done, 1 failed, 2 refused (usage or input), 130 interrupted by the user. */
import type { Stack } from '@anneal/client/representation.ts';

export const exitCodes = { done: 0, failed: 1, refused: 2, interrupted: 130 } as const;

/** The action of a stack failed. The command itself succeeded, so this is not an error of the command. */
export class StackFailed extends Error {
  override readonly name = 'StackFailed';
  readonly failed: Stack;
  /** The action that the command waited for, when it is known. */
  readonly wanted: string | undefined;

  constructor(stack: Stack, wanted?: string) {
    super(`Stack ${stack.stack_name} failed: ${stack.stack_status}`);
    this.failed = stack;
    this.wanted = wanted;
  }
}

/** The user answered no. Nothing was changed. */
export class Declined extends Error {
  override readonly name = 'Declined';
}

/** The errors are printed already; only the exit status is left. */
export class Reported extends Error {
  override readonly name = 'Reported';
  readonly status: number;

  constructor(status: number) {
    super(`Failed with the exit status ${status}`);
    this.status = status;
  }
}
