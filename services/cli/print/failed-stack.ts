/** Describes a failed stack: the root cause comes first. Failures that follow from it are only counted. */
import type { Stack } from '@anneal/client/representation.ts';
import type { Colors } from '../output.ts';
import { describeFailure } from './failure.ts';

/** `wanted`: the action that a command waited for, when the status does not show it. */
export function describeFailedStack(stack: Stack, colors: Colors, wanted?: string): string[] {
  const { stack_name: name, stack_status: status } = stack;
  const [first, ...others] = stack.failures;
  const headline = `${colors.red('✘')} The ${verbOf(status, wanted)} of ${colors.bold(name)}`;
  if (status === 'DELETE_COMPLETE') return [`${headline} did not complete, because the stack was deleted.`];
  const back = status === 'ROLLBACK_COMPLETE' ? [rolledBack(name, wanted)] : [];
  if (!first) {
    const why = back.length > 0 || stack.cancelled ? 'was cancelled.' : `failed: ${stack.stack_status_reason ?? ''}`;
    return [`${headline} ${why}`, ...back, `See: anneal stack events ${name}`];
  }
  return [
    `${headline} failed at ${colors.bold(first.resource)} (${first.type}).`,
    ...describeFailure(first.failure, { colors }),
    ...others.map(({ resource, failure }) => colors.dim(`Also ${resource}: ${failure.message.split('\n')[0] ?? ''}`)),
    ...back,
  ];
}

function verbOf(status: string, wanted: string | undefined): string {
  const isEnded = status.endsWith('_COMPLETE');
  const action = isEnded ? wanted : status.replace(/_FAILED$/, '');
  // A rollback that completed followed an action that the status no longer shows.
  return action === undefined || (isEnded && action === 'ROLLBACK') ? 'last action' : action.toLowerCase();
}

const rolledBack = (name: string, wanted: string | undefined): string =>
  wanted === 'CREATE'
    ? `The stack was rolled back and is empty. Delete it with: anneal stack delete ${name}`
    : 'The stack was rolled back to its last complete state.';
