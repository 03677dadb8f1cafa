/** ResourceChain: one member for each type in a list, all at once or each created after the one before it. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import type { GroupMember } from './member.ts';

/** The members, with the numbers of their types as names. */
export function chainMembers({ properties }: { properties: JsonObject }): GroupMember[] {
  const { resources, concurrent, resource_properties: given } = properties;
  const types = Array.isArray(resources) ? resources : [];
  return types.map((type, index): GroupMember => {
    const definition: JsonObject = {
      type,
      ...(isPlainObject(given) && { properties: given }),
      ...(index > 0 && concurrent !== true && { depends_on: [String(index - 1)] }),
    };
    return { name: String(index), definition };
  });
}
