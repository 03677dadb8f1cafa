/**
 * Passes on attributes that change while the stack runs no action: a signal changes them, or a nested stack that acts by
 * itself, for example a group that a policy scales.
 *
 * As in Heat, properties keep their values until the next update, and metadata follows at once, because programs read it
 * on the machines: a load balancer finds the members of a group there. A type may name properties that follow, too: its
 * provider gets their new values as a signal.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import { sameJson, type JsonObject } from '@anneal/contracts/json.ts';
import { representative, type ResourceDocument } from '../documents.ts';
import { answerParent } from '../nested.ts';
import { tooLargeToApply } from '../size.ts';
import { addEffect, changeResource, changeStack, type Transaction } from '../transaction.ts';

/** To be called after `before` became `after`, with the failure of a nested stack that failed by itself. */
export function followAttributes(
  transaction: Transaction,
  { before, after, failure = null }: { before: ResourceDocument; after: ResourceDocument; failure?: Failure | null },
): void {
  const { state } = transaction;
  const shows = after.shown_at !== before.shown_at;
  if (shows) for (const id of state.requiredBy.get(after.id) ?? []) followAt(transaction, id);
  // The end of a running action answers by itself, and a failed stack has answered with its failure.
  if (!state.stack.parent || (failure === null && !(shows && state.stack.status === 'COMPLETE'))) return;
  // The clock makes this answer newer than every earlier one.
  changeStack(transaction, { clock: state.stack.clock + 1 });
  answerParent(transaction, failure);
}

/** To be called when a request is complete. What it reads may have changed while its provider worked. */
export function followCompleted(transaction: Transaction, resource: ResourceDocument): void {
  const { state, tools } = transaction;
  if ((tools.follows?.(resource) ?? []).length === 0) return;
  // A resource that is in progress brings its own update to this one.
  const isWhole = resource.requires.every((id) => state.resources.get(id)?.status === 'COMPLETE');
  if (isWhole) followAt(transaction, resource.id);
}

/**
 * Evaluates what follows in a resource that reads the changed one. Keeps the values when the new ones cannot be evaluated
 * or are too large.
 */
function followAt(transaction: Transaction, id: string): void {
  const { state, tools } = transaction;
  const reader = state.resources.get(id);
  const planned = reader && Object.hasOwn(state.plan.resources, reader.name) && state.plan.resources[reader.name];
  if (!planned) return;
  const names = tools.follows?.(reader) ?? [];
  if (planned.metadata === undefined && names.length === 0) return;
  if (reader.action === 'DELETE' || reader.action === 'INIT' || reader.replaced_by !== null) return;
  // The running action brings the entry of a newer plan to the resource, with its metadata.
  if (reader.digest !== (planned.digest ?? null)) return;
  const used = reader.requires.flatMap((required) => state.resources.get(required) ?? []);
  // After a failed update it may use two incarnations of a name.
  const peer = (name: string): ResourceDocument | undefined =>
    representative(used.filter((each) => each.name === name));
  const resolved = tools.resolve({ plan: state.plan, resource: planned, stack: state.stack, peer });
  if (!resolved.ok) return;
  const { metadata = reader.metadata } = resolved;
  const followed: JsonObject = toRecord(
    names.flatMap((name) => {
      const value = resolved.properties[name];
      return value === undefined || sameJson(value, reader.properties[name] ?? null) ? [] : [[name, value]];
    }),
  );
  const isSame = Object.keys(followed).length === 0;
  if (isSame && sameJson(metadata, reader.metadata)) return;
  const { sizes: limits } = tools;
  const room = limits && { limits, stackBytes: state.bytes, name: reader.name, before: reader };
  if (room && tooLargeToApply(resolved, room)) return;
  // The next update compares with what the provider has then.
  changeResource(transaction, id, { metadata, ...(!isSame && { properties: { ...reader.properties, ...followed } }) });
  if (isSame) return;
  // The clock orders the signals, which may arrive late.
  const sequence = changeStack(transaction, { clock: state.stack.clock + 1 }).clock;
  const signal = { follows: followed, sequence };
  addEffect(transaction, { kind: 'signal', resource: id, id: `follow:${sequence}`, signal });
}
