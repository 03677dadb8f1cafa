/** ResourceChain: one member for each type in a list, each created after the one before it. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import type { GroupMember } from './member.ts';

/** `window`: number of members of a concurrent chain that may be created at a time. */
export function chainMembers({ properties, window = 1 }: { properties: JsonObject; window?: number }): GroupMember[] {
  const { resources, concurrent, resource_properties: given } = properties;
  const types = Array.isArray(resources) ? resources : [];
  const step = concurrent === true ? Math.max(1, window) : 1;
  return types.map((type, index): GroupMember => {
    const before = index - step;
    const definition: JsonObject = {
      type,
      ...(isPlainObject(given) && { properties: given }),
      ...(before >= 0 && { depends_on: [String(before)] }),
    };
    return { name: String(index), definition };
  });
}
