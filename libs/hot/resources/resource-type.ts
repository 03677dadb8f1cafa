/** Finds the type or template for a resource through the registry. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from '../environment/environment.ts';
import { join, listed, type Mistakes, nearestName } from '../mistakes.ts';
import { checkFacade } from './facade.ts';
import type { NestedTemplate } from '../tree/library.ts';
import { type MappingEntry, isNull, kindOfNode } from '@anneal/python/yaml/node.ts';
import type { Found } from '../environment/registry.ts';
import type { TemplateTree } from '../tree/tree.ts';

/** The registry and the types to search. */
export interface TypeContext {
  readonly environment: Environment;
  readonly tree: TemplateTree;
  readonly mistakes: Mistakes;
}

interface ResolvedType {
  readonly type: ResourceType;
  readonly found: Found;
  readonly template: NestedTemplate | undefined;
}

/** Returns undefined after a mistake. */
export function findType(name: string, entry: MappingEntry, context: TypeContext): ResolvedType | undefined {
  const { mistakes, environment, tree } = context;
  const path = join('resources', name);
  const written = readWritten(name, entry, mistakes);
  if (!written) return undefined;
  const { type, at } = written;
  const typePath = join(path, 'type');
  const lookup = { type, resource: name, types: tree.types, note: (looked: string) => tree.used.type(looked) };
  const found = environment.registry.find(lookup);
  if (!found) {
    const message = `The Resource Type (${type}) could not be found.`;
    const nearest = nearestName(type, tree.types.keys());
    const expected = 'a known resource type';
    mistakes.add({ code: 'UnknownType', message, path: typePath, at, found: type, nearest, expected });
    return undefined;
  }
  if (found.kind === 'cycle') {
    const message = `The resource registry maps a type to itself: ${found.way.join(' → ')}`;
    mistakes.add({ code: 'Cycle', message, path: typePath, at });
    return undefined;
  }
  if (found.kind === 'type') {
    if (found.type.renewed) tree.used.renewed();
    return { type: found.type, found, template: undefined };
  }
  const read = (file: string) => {
    tree.used.file(file);
    return tree.library.get(file, { defaults: environment.defaults, work: tree.work });
  };
  const template = read(found.file);
  if (!template) {
    const names = [...tree.library.names()];
    const message = `Failed to retrieve template data: ${found.file} is not among the files`;
    const nearest = nearestName(found.file, names);
    const expected = listed(names);
    mistakes.add({ code: 'MissingFile', message, path: typePath, at, found: found.file, nearest, expected });
    return undefined;
  }
  // A template must have the properties and attributes of the type or template that it replaces.
  const other = environment.registry.find({ ...lookup, except: found });
  const facade = other?.kind === 'template' ? read(other.file)?.type : other?.kind === 'type' ? other.type : undefined;
  for (const message of facade ? checkFacade({ facade, provider: template.type, type }) : []) {
    mistakes.add({ code: 'FacadeMismatch', message, path, at });
  }
  return { type: template.type, found, template };
}

function readWritten(
  name: string,
  entry: MappingEntry,
  mistakes: Mistakes,
): { type: string; at: MappingEntry['at'] } | undefined {
  const path = join('resources', name);
  const node = entry.value;
  if (node.kind !== 'map') {
    const message = `Resource ${name} must be a map, not ${kindOfNode(node)}`;
    mistakes.add({ code: 'WrongType', message, path, at: entry.at, expected: 'a map' });
    return undefined;
  }
  const type = node.entries.get('type')?.value;
  if (!type || isNull(type)) {
    const message = 'Each resource must contain a type key.';
    mistakes.add({ code: 'MissingType', message, path, at: entry.at, expected: 'type' });
    return undefined;
  }
  const at = type.at ?? entry.at;
  if (type.kind === 'scalar' && typeof type.value === 'string') return { type: type.value, at };
  const message = `Resource ${name} type type must be string`;
  const found = kindOfNode(type);
  mistakes.add({ code: 'WrongType', message, path: join(path, 'type'), at, expected: 'a string', found });
  return undefined;
}
