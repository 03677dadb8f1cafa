/** Describes a failed stack: the root cause comes first. Failures that follow from it are only counted. */
import type { Stack } from '@anneal/client/representation.ts';
import type { Colors } from '../output.ts';
import { describeFailure } from './failure.ts';

export function describeFailedStack(stack: Stack, colors: Colors): string[] {
  const [first, ...others] = stack.failures;
  const verb = stack.stack_status.replace(/_FAILED$/, '').toLowerCase();
  const headline = `${colors.red('✘')} The ${verb} of ${colors.bold(stack.stack_name)} failed`;
  if (!first) {
    return [`${headline}: ${stack.stack_status_reason ?? ''}`, `See: anneal stack events ${stack.stack_name}`];
  }
  return [
    `${headline} at ${colors.bold(first.resource)} (${first.type}).`,
    ...describeFailure(first.failure, { colors }),
    ...others.map(({ resource, failure }) => colors.dim(`Also ${resource}: ${failure.message.split('\n')[0] ?? ''}`)),
  ];
}
