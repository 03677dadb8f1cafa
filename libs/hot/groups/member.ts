/**
 * Template of a group, because a group is a nested stack. It has a resource for each member, with evaluated values, and
 * an output for each attribute that the template around it reads.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import { groupKind, memberAttribute } from './kind.ts';

/** A member of a group. */
export interface GroupMember {
  readonly name: string;
  /** In the form of a template: `type`, `properties`, … */
  readonly definition: JsonObject;
}

/** An attribute and the path into it, in the order of `get_attr` after the resource. */
export type PropertyReader = readonly [attribute: string, ...path: Json[]];

/** Heat uses this version for the templates of its groups, whatever the version of the template around them. */
const version = '2015-04-30';

/** The template of the nested stack that holds the members. */
export function memberTemplate({
  type,
  members,
  warm = [],
  reads = [],
}: {
  /** Type of the group. */
  type: string;
  members: readonly GroupMember[];
  /** Members that no output contains. */
  warm?: readonly GroupMember[];
  reads?: readonly PropertyReader[];
}): JsonObject {
  const outputs = groupOutputs({ type, names: members.map(({ name }) => name), reads });
  return {
    heat_template_version: version,
    resources: toRecord([...members, ...warm].map(({ name, definition }) => [name, definition])),
    ...(Object.keys(outputs).length > 0 && { outputs }),
  };
}

const call = (name: string, argument: Json): JsonObject => ({ [name]: argument });
const attributeOf = (member: string, path: readonly Json[]): JsonObject => call('get_attr', [member, ...path]);
const referenceOf = (member: string): JsonObject => call('get_resource', member);

/** Names outputs as Heat does: the attribute and its path, separated by commas. */
function groupOutputs({
  type,
  names,
  reads,
}: {
  type: string;
  names: readonly string[];
  reads: readonly PropertyReader[];
}): JsonObject {
  const kind = groupKind(type);
  const map = (value: (member: string) => Json): JsonObject => toRecord(names.map((name) => [name, value(name)]));
  const outputs = new Map<string, Json>();
  const add = (read: readonly Json[], value: Json): void =>
    void outputs.set(read.map(pythonText).join(', '), { value });
  for (const [attribute, ...path] of reads) {
    const [, member = '', inner] = /^resource\.([^.]*)(?:\.(.*))?$/s.exec(attribute) ?? [];
    const isMember = attribute.startsWith('resource.');
    const below = inner === undefined ? path : [inner, ...path];
    if (kind === 'deployments') {
      const read = memberAttribute(attribute);
      add(
        ['attributes', read],
        map((name) => attributeOf(name, [read])),
      );
    } else if (kind === 'instances') {
      if (attribute === 'InstanceList')
        add(
          [attribute],
          map((name) => attributeOf(name, ['PublicIp'])),
        );
    } else if (kind === 'scaling') {
      // Positions depend on creation time, which a template does not know. The output is a map, and readers select from
      // it.
      const wanted = isMember ? below : attribute === 'outputs' || attribute === 'outputs_list' ? path : [];
      if (wanted.length > 0)
        add(
          ['outputs', ...wanted],
          map((name) => attributeOf(name, wanted)),
        );
    } else if (isMember) {
      if (!names.includes(member)) continue;
      if (below.length > 0) add([attribute, ...path], attributeOf(member, below));
      else if (kind === 'chain') add([attribute], referenceOf(member));
    } else if (attribute === 'refs') add(['refs'], names.map(referenceOf));
    else if (attribute === 'attributes') {
      if (path.length > 0)
        add(
          [attribute, ...path],
          map((name) => attributeOf(name, path)),
        );
    } else if (kind === 'chain' || (attribute !== 'refs_map' && attribute !== 'removed_rsrc_list')) {
      add(
        [attribute, ...path],
        names.map((name) => attributeOf(name, [attribute, ...path])),
      );
    }
  }
  if (kind === 'numbered') add(['refs_map'], map(referenceOf));
  if (kind === 'scaling' || kind === 'instances') add(['references'], map(referenceOf));
  return toRecord(outputs);
}
