/**
 * Marks the maps that are calls in the template of a group's members. The values of the members are already evaluated
 * and may come from a parameter, a script or a host, so one that looks like a call (`{get_file: …}`) is data.
 */
import type { MapNode, YamlNode } from '@anneal/python/yaml/node.ts';
import { sectionNode, type Template } from '../syntax/template.ts';

/** Adds the calls to the template: its outputs, which Anneal writes, and reads of the named parameters. */
export function withMemberCalls(read: Template, parameters: ReadonlySet<string>): Template {
  const calls = new Set<YamlNode>();
  visitMaps(sectionNode(read, 'outputs'), (map) => calls.add(map));
  visitMaps(sectionNode(read, 'resources'), (map) => {
    const name = map.entries.size === 1 ? map.entries.get('get_param')?.value : undefined;
    if (name?.kind === 'scalar' && typeof name.value === 'string' && parameters.has(name.value)) calls.add(map);
  });
  return { ...read, calls };
}

function visitMaps(node: YamlNode, visit: (map: MapNode) => void): void {
  if (node.kind === 'list') for (const item of node.items) visitMaps(item, visit);
  if (node.kind !== 'map') return;
  visit(node);
  for (const { value } of node.entries.values()) visitMaps(value, visit);
}
