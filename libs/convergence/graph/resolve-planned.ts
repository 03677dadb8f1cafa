/** Evaluates the properties of a plan entry. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceDocument } from '../documents.ts';
import type { Resolution } from '../protocol.ts';
import { tooLargeToApply } from '../size.ts';
import type { Graph } from '../state.ts';
import type { Transaction } from '../transaction.ts';

/**
 * The properties of a plan entry; a failure when they exceed the size limits.
 * @param given.ahead reads requirements in flight, too: only their ids, because they have shown nothing yet
 */
export function resolvePlanned(
  { state, tools }: Transaction,
  planned: PlanResource,
  given: { before: ResourceDocument | undefined; ahead?: boolean },
): Resolution {
  const { current, ahead } = state.graph as Graph;
  const inFlight = (name: string): ResourceDocument | undefined => {
    const resource = given.ahead ? state.resources.get(ahead.get(name) ?? '') : undefined;
    return resource && { ...resource, physical_id: resource.physical_id ?? resource.id };
  };
  const resolved = tools.resolve({
    plan: state.plan,
    resource: planned,
    stack: state.stack,
    peer: (name) => state.resources.get(current.get(name) ?? '') ?? inFlight(name),
  });
  if (!resolved.ok || !tools.sizes) return resolved;
  const room = { limits: tools.sizes, stackBytes: state.bytes };
  const failure = tooLargeToApply(resolved, { ...room, name: planned.name, before: given.before });
  return failure ? { ok: false, failure } : resolved;
}
