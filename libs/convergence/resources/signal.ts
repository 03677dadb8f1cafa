/** Signals from clients, forwarded to the provider of the resource. A signal is no action: nothing waits for it. */
import { isObject } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { representativeOf, applyResourceAction } from './resource-action.ts';
import type { Input } from '../protocol.ts';
import { isNested, type ResourceDocument } from '../documents.ts';
import { addEffect, announceResource, type Transaction } from '../transaction.ts';

/**
 * Sends a signal to the provider of a resource, or clears a hook. @throws AnnealError NotFound for an unknown or
 * replaced resource, NotSupported when it takes no signals
 */
export function takeSignal(transaction: Transaction, input: Extract<Input, { kind: 'signal' }>): void {
  const { signal, resource: name, incarnation, id, asked } = input;
  const resource = representativeOf(transaction, name);
  const { stack } = transaction.state;
  if (incarnation !== undefined && incarnation !== resource.id) {
    const message = `The resource ${name} of stack ${stack.name} was replaced; the signal is for the one before. Read where to signal again.`;
    throw new AnnealError('NotFound', message);
  }
  // Heat's way to clear a hook; it works for types that take no signals, too.
  if (isObject(signal) && 'unset_hook' in signal) {
    const hook = signal['unset_hook'] ?? null;
    applyResourceAction(transaction, {
      kind: 'resource',
      id,
      resource: name,
      occasion: input.occasion,
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
  // While the action runs, its provider may wait for exactly this signal.
  if ((resource.action === 'DELETE' || resource.action === 'SUSPEND') && !resource.request) {
    const reason = `Cannot signal resource during ${resource.action}`;
    announceResource(transaction, { ...resource, started_at: null }, { reason });
    throw new AnnealError('NotSupported', `Signal resource during ${resource.action} is not supported.`);
  }
  const wrong = transaction.tools.wrongSignal?.(resource.type, signal);
  if (wrong) throw new AnnealError('InvalidRequest', wrong.message);
  const { acting } = transaction;
  const more = { ...(acting && { occasion: acting }), ...(asked && { asked }) };
  addEffect(transaction, { kind: 'signal', resource: resource.id, id, signal, ...more });
}

/** Whether the type of a resource declares signals; a nested stack takes none, even if a served type has its name. */
const takesSignals = ({ tools }: Transaction, resource: ResourceDocument): boolean =>
  !isNested(resource) && tools.serves(resource, 'signal');
