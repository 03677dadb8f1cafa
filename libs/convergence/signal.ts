/** A signal from outside, handed to the provider of the resource it is for. It is no action: nothing waits for it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Input } from './protocol.ts';
import { representative } from './state.ts';
import { addEffect, type Transaction } from './transaction.ts';

export function takeSignal(transaction: Transaction, input: Extract<Input, { kind: 'signal' }>): void {
  const { state } = transaction;
  const candidates = [...(state.byName.get(input.resource) ?? [])].flatMap((id) => state.resources.get(id) ?? []);
  const resource = representative(candidates);
  if (!resource || resource.action === 'DELETE') {
    throw new AnnealError(
      'NotFound',
      `The Resource (${input.resource}) could not be found in Stack ${state.stack.name}.`,
    );
  }
  if (resource.fence === 0) {
    throw new AnnealError('NotSupported', `Resource ${input.resource} was never created; it cannot be signalled.`);
  }
  addEffect(transaction, { kind: 'signal', resource: resource.id, id: input.id, signal: input.signal });
}
