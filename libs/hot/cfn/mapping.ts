/** `Fn::FindInMap`: a value of the Mappings section, by the names of the map, the key and the attribute. */
import type { Json } from '@anneal/contracts/json.ts';
import { type Entry, type Node, shown, toJson } from '../node.ts';

export function findInMap(
  mappings: ReadonlyMap<string, Entry>,
  argument: Json,
): { readonly value: Json } | { readonly problem: string } {
  if (!Array.isArray(argument) || argument.length !== 3) {
    return { problem: 'Arguments to "Fn::FindInMap" must be of the form [map_name, key, attribute]' };
  }
  let entries: ReadonlyMap<string, Entry> | undefined = mappings;
  let found: Node | undefined;
  for (const step of argument) {
    const key = typeof step === 'object' ? undefined : String(step);
    found = key === undefined ? undefined : entries?.get(key)?.value;
    if (!found) return { problem: `"Fn::FindInMap" finds nothing under ${argument.map(shown).join(', ')}` };
    entries = found.kind === 'map' ? found.entries : undefined;
  }
  return { value: found ? toJson(found) : null };
}
