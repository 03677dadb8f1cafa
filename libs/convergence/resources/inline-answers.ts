/**
 * Requests that are answered within the step. A response that takes no work needs no message and no record of its own.
 * The rest of the core handles it like any other; it only comes before the step ends.
 */
import { takeResponse } from './response.ts';
import type { Transaction } from '../transaction.ts';

/** Applies the responses that are available at once. True when there were any, because more nodes may be ready now. */
export function takeAtOnce(transaction: Transaction): boolean {
  const { changes, tools, state } = transaction;
  const { effects } = changes;
  if (!tools.atOnce || effects.length === transaction.asked) return false;
  const answers = [];
  for (const effect of effects.splice(transaction.asked)) {
    const resource = effect.kind === 'request' ? state.resources.get(effect.resource) : undefined;
    const answer = resource && tools.atOnce({ stack: state.stack, resource });
    if (answer) answers.push(answer);
    else effects.push(effect);
  }
  transaction.asked = effects.length;
  for (const answer of answers) takeResponse(transaction, answer);
  return answers.length > 0;
}
