/** `Fn::FindInMap`: looks up a value of the Mappings section by the names of the map, the key and the attribute. */
import type { Json } from '@anneal/contracts/json.ts';
import { type MappingEntry, type YamlNode, shown, toExact } from '@anneal/python/yaml/node.ts';

/** The value, or the reason why the three names lead nowhere. */
export function findInMap(
  mappings: ReadonlyMap<string, MappingEntry>,
  argument: Json,
): { readonly value: Json } | { readonly problem: string } {
  if (!Array.isArray(argument) || argument.length !== 3) {
    return { problem: 'Arguments to "Fn::FindInMap" must be of the form [map_name, key, attribute]' };
  }
  let entries: ReadonlyMap<string, MappingEntry> | undefined = mappings;
  let found: YamlNode | undefined;
  for (const step of argument) {
    const entry: MappingEntry | undefined = typeof step === 'object' ? undefined : entries?.get(String(step));
    // The number 5 is a different key from the text 5.
    found = entry && (entry.key === undefined) === (typeof step === 'string') ? entry.value : undefined;
    if (!found) return { problem: `"Fn::FindInMap" finds nothing under ${argument.map(shown).join(', ')}` };
    entries = found.kind === 'map' ? found.entries : undefined;
  }
  return { value: found ? toExact(found) : null };
}
