/** The members that a group has now. */
import type { Json } from '@anneal/contracts/json.ts';
import { representative, type ResourceDocument } from '@anneal/convergence/documents.ts';
import { sinceOf } from '../groups/facts.ts';
import type { ExistingMember } from './members.ts';

/** One member for each name: of a member that is being replaced, the incarnation that readers see. */
export function existingIn(
  resources: readonly ResourceDocument[],
  referenceOf: (resource: ResourceDocument) => Json,
): ExistingMember[] {
  const shown = [...Map.groupBy(resources, ({ name }) => name).values()].flatMap((each) => representative(each) ?? []);
  return shown
    .filter(({ action }) => action !== 'DELETE')
    .map((resource) => ({
      name: resource.name,
      reference: referenceOf(resource),
      created_at: resource.created_at,
      failed: resource.status === 'FAILED',
      ready: sinceOf(resource) !== null,
    }));
}
