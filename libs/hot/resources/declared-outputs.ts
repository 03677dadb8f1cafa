/**
 * The outputs that the configs of a template declare, as attributes of the deployments that run them. A template that reads
 * another output is wrong: its value would stay null. Heat finds that when the stack reads it (InvalidTemplateAttribute).
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { isNull, type MappingEntry, type YamlNode } from '@anneal/python/yaml/node.ts';
import { groupKind } from '../groups/kind.ts';

const configTypes: ReadonlySet<string> = new Set([
  'OS::Heat::SoftwareConfig',
  'OS::Heat::StructuredConfig',
  'OS::Heat::SoftwareComponent',
]);
const deploymentTypes: ReadonlySet<string> = new Set([
  'OS::Heat::SoftwareDeployment',
  'OS::Heat::StructuredDeployment',
]);

type Entries = ReadonlyMap<string, MappingEntry>;
type Types = ReadonlyMap<string, ResourceType>;

/**
 * The types of the resources, where a deployment has only the attributes that its config declares. A deployment stays
 * open when that is not known: its config is of another stack, or a function makes the list of outputs.
 * @param resources the resources of the template, as written
 */
export function withDeclaredOutputs(resources: Entries, typeOf: Types): Types {
  return new Map(
    Array.from(typeOf, ([name, type]): [string, ResourceType] => {
      const names = outputsOf(name, type, { resources, typeOf });
      if (!names) return [name, type];
      const { open_attributes: _, ...closed } = type;
      const declared = names.map(
        (output) => [output, { type: 'Any', description: 'An output of the config.' }] as const,
      );
      return [name, { ...closed, attributes: { ...toRecord(declared), ...type.attributes } }];
    }),
  );
}

/** Undefined when it is not known. */
function outputsOf(
  name: string,
  { type }: ResourceType,
  { resources, typeOf }: { resources: Entries; typeOf: Types },
): readonly string[] | undefined {
  if (type === 'OS::Heat::OrderedConfig') {
    const names = namesIn(propertyOf(resources, name, 'outputs'));
    // Without a declaration, every output that the config writes is kept.
    return names?.length === 0 ? undefined : names;
  }
  if (!deploymentTypes.has(type) && groupKind(type) !== 'deployments') return undefined;
  const config = propertyOf(resources, name, 'config');
  const [only, ...others] = config?.kind === 'map' ? config.entries : [];
  if (!only || others.length > 0 || only[0] !== 'get_resource') return undefined;
  const of = only[1].value;
  const found = of.kind === 'scalar' && typeof of.value === 'string' ? of.value : '';
  return configTypes.has(typeOf.get(found)?.type ?? '') ? namesIn(propertyOf(resources, found, 'outputs')) : undefined;
}

function propertyOf(resources: Entries, name: string, property: string): YamlNode | undefined {
  const node = resources.get(name)?.value;
  const properties = node?.kind === 'map' ? node.entries.get('properties')?.value : undefined;
  return properties?.kind === 'map' ? properties.entries.get(property)?.value : undefined;
}

/** The names in a list of outputs; none for an absent list. Undefined when one is not written as it is. */
function namesIn(outputs: YamlNode | undefined): readonly string[] | undefined {
  if (!outputs || isNull(outputs)) return [];
  if (outputs.kind !== 'list') return undefined;
  const names = outputs.items.map((item) => (item.kind === 'map' ? item.entries.get('name')?.value : undefined));
  const known = names.flatMap((node) =>
    node?.kind === 'scalar' && typeof node.value === 'string' ? [node.value] : [],
  );
  return known.length === names.length ? known : undefined;
}
