/** What `get_resource` gives of a nested stack. */
import type { Json } from '@anneal/contracts/json.ts';
import { isNested, type ResourceDocument } from '@anneal/convergence/state.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';

/** An output by which a template says itself what it is referred to by. */
const ownReference = 'OS::stack_id';

/** Undefined: as of any other resource. */
export function nestedReference(resource: ResourceDocument): Json | undefined {
  if (!isNested(resource)) return undefined;
  const kind = groupKind(resource.type);
  // Policies of AWS name their group by its name.
  if (kind === 'instances') return resource.physical_id === null ? undefined : resource.physical_name;
  const said = Object.hasOwn(resource.attributes, ownReference) ? resource.attributes[ownReference] : undefined;
  return said ?? undefined;
}
