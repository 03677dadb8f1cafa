/** Health of an incarnation: healthy, repairable in place, or to be replaced. */
import type { Comparison, Tools } from '../protocol.ts';
import { isNested, type ResourceDocument } from '../documents.ts';

type Rule = Pick<Tools, 'replaceFailed'>;

/** The work that an incarnation needs besides changes of the plan. */
export interface ResourceHealth {
  /** The incarnation needs work, even if the plan did not change. */
  readonly broken: boolean;
  /** The work needs a new incarnation. */
  readonly replaced: boolean;
}

/** The health of an incarnation, from its last action and the comparison with the plan. */
export function conditionOf(resource: ResourceDocument, { verdict }: Comparison, tools: Rule): ResourceHealth {
  const { status, action, request, attempted, skipped, must_replace: mustReplace } = resource;
  // A failed snapshot leaves the resource healthy, unless the object no longer exists.
  const matters = action !== 'SNAPSHOT' || isNested(resource) || resource.failure?.code === 'NotFound';
  const failed = status === 'FAILED' && matters && request === null;
  const broken = failed || attempted !== null || skipped !== null;
  const recreate = (failed || skipped !== null) && mustBeAnew(resource, tools);
  // A plain resource may still be used unchanged; only an update needs the replacement. A nested stack is gone.
  const must = mustReplace && (verdict === 'update' || isNested(resource));
  return { broken, replaced: recreate || verdict === 'replace' || must };
}

/** Whether to recreate a broken resource, rather than repair it in place. */
function mustBeAnew(resource: ResourceDocument, { replaceFailed }: Rule): boolean {
  // Its members know best what failed. Only an operator who marks the whole nested stack unhealthy has it replaced.
  if (isNested(resource)) return resource.action === 'CHECK' && resource.failure?.code === 'Unhealthy';
  if (resource.must_replace || resource.action !== 'UPDATE') return true;
  return replaceFailed(resource.type);
}
