/** In what condition an incarnation is, before it is compared with the plan: whole, or to be mended in place or made anew. */
import type { Comparison, Tools } from './protocol.ts';
import { isNested, type ResourceDocument } from './documents.ts';

type Rule = Pick<Tools, 'replaceFailed'>;

export interface Condition {
  /** Something is to be done with it, though nothing that is wanted of it may have changed. */
  readonly broken: boolean;
  /** What is to be done takes a new one. */
  readonly replaced: boolean;
}

export function conditionOf(resource: ResourceDocument, { verdict }: Comparison, tools: Rule): Condition {
  const { status, action, request, attempted, skipped, must_replace: mustReplace } = resource;
  // What could not be saved is whole, unless it is gone.
  const matters = action !== 'SNAPSHOT' || isNested(resource) || resource.failure?.code === 'NotFound';
  const failed = status === 'FAILED' && matters && request === null;
  const broken = failed || attempted !== null || skipped !== null;
  const anew = (failed || skipped !== null) && mustBeAnew(resource, tools);
  // One of which only its provider knew is whole; a nested stack is gone.
  const must = mustReplace && (verdict === 'update' || isNested(resource));
  return { broken, replaced: anew || verdict === 'replace' || must };
}

/** Whether one that is not whole is made anew, rather than mended in place. */
function mustBeAnew(resource: ResourceDocument, { replaceFailed }: Rule): boolean {
  // Its members know best what failed; only a person who calls the whole of it unhealthy has all of it replaced.
  if (isNested(resource)) return resource.action === 'CHECK' && resource.failure?.code === 'Unhealthy';
  if (resource.must_replace || resource.action !== 'UPDATE') return true;
  return replaceFailed(resource.type);
}
