/** A signal from outside, handed to the provider of the resource it is for. It is no action: nothing waits for it. */
import { isObject } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { standing, takeWord } from './about-resource.ts';
import type { Input } from './protocol.ts';
import { isNested, type ResourceDocument } from './documents.ts';
import { addEffect, type Transaction } from './transaction.ts';

export function takeSignal(transaction: Transaction, input: Extract<Input, { kind: 'signal' }>): void {
  const { signal, resource: name, incarnation, id } = input;
  const resource = standing(transaction, name);
  const { stack } = transaction.state;
  if (incarnation !== undefined && incarnation !== resource.id) {
    const message = `The resource ${name} of stack ${stack.name} was replaced; the signal is for the one before. Read where to signal again.`;
    throw new AnnealError('NotFound', message);
  }
  // Heat's way to let a resource go on from a hook; it works for types that cannot be signalled.
  if (isObject(signal) && 'unset_hook' in signal) {
    const hook = signal['unset_hook'] ?? null;
    takeWord(transaction, {
      kind: 'resource',
      id,
      resource: name,
      action: { kind: 'clear hook', hook: typeof hook === 'string' ? hook : JSON.stringify(hook) },
    });
    return;
  }
  if (!takesSignals(transaction, resource)) {
    const able = [...transaction.state.resources.values()].filter((one) => takesSignals(transaction, one));
    const others = [...new Set(able.map((one) => one.name))].sort().slice(0, 5).join(', ');
    const hint = others === '' ? '' : ` In this stack can be signalled: ${others}.`;
    throw new AnnealError('NotSupported', `Cannot signal resource ${name}: ${resource.type} takes no signals.${hint}`);
  }
  if (resource.action === 'INIT') {
    throw new AnnealError('NotSupported', `Resource ${name} was never created; it cannot be signalled.`);
  }
  // What works in such an action may wait for just this signal.
  if ((resource.action === 'DELETE' || resource.action === 'SUSPEND') && !resource.request) {
    throw new AnnealError('NotSupported', `Signal resource during ${resource.action} is not supported.`);
  }
  const wrong = transaction.tools.wrongSignal?.(resource.type, signal);
  if (wrong) throw new AnnealError('InvalidRequest', wrong.message);
  addEffect(transaction, { kind: 'signal', resource: resource.id, id, signal });
}

/** Types say beforehand what they take; a nested stack takes none, whatever its type is elsewhere. */
const takesSignals = ({ tools }: Transaction, resource: ResourceDocument): boolean =>
  !isNested(resource) && tools.serves(resource, 'signal');
