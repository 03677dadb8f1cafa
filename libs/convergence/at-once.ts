/**
 * Requests that are answered within the step: what costs nothing needs no message and no record of its own. To the rest
 * of the core, such an answer is like any other; it only comes before the step ends.
 */
import { takeResponse } from './response.ts';
import type { Transaction } from './transaction.ts';

/** Takes the answers that are there at once; true when there were any, so that more may be ready now. */
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
