/** Values that `get_attr` reads from a group: of all members at once, of one of them, or of the group itself. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import { type PartialValue, unknown } from '../evaluate/unknown.ts';
import { walk } from '../evaluate/attribute-path.ts';
import { groupKind, memberAttribute } from './kind.ts';

/** The members of a group, as `get_attr` reads them. */
export interface GroupMembers {
  /** In the group's order: by number, by age (without failed members), or as the servers are listed. */
  readonly names: readonly string[];
  /**
   * Members that have left the plan, and whose deletion has not ended: they may still work. Readers see them as members,
   * behind the others. In a map, the name belongs to the member that took the place.
   */
  readonly leaving?: readonly { readonly name: string; readonly key: string }[];
  /** @param name of a member, or the key of one that leaves */
  reference(name: string): PartialValue;
  attribute(name: string, attribute: string, path: readonly Json[]): PartialValue;
}

/** The value, or the reason why the group has none of that name. */
export type GroupValue = { readonly value: PartialValue } | { readonly problem: string };

/** The attribute to read, and its group. */
export interface ReadGroup {
  /** The group's name and type. */
  readonly group: string;
  readonly type: string;
  readonly members: GroupMembers;
  /** Names that are not used again (ResourceGroup). */
  readonly skipped?: readonly string[];
  readonly attribute: string;
  readonly path: readonly Json[];
}

/** The value of an attribute, or the reason why the group does not have it. */
export function readGroup(parameters: ReadGroup): GroupValue {
  const { type, members, attribute, path } = parameters;
  const kind = groupKind(type);
  const { names, leaving = [] } = members;
  const listed = [...names, ...leaving.map(({ key }) => key)];
  const named = [
    ...names.map((member) => ({ name: member, key: member })),
    ...leaving.filter((member) => !names.includes(member.name)),
  ];
  const all = (name: string, below: readonly Json[]): { [member: string]: PartialValue } =>
    toRecord(named.map((member) => [member.name, members.attribute(member.key, name, below)]));
  const list = (name: string, below: readonly Json[]): PartialValue[] =>
    listed.map((key) => members.attribute(key, name, below));
  if (kind === 'deployments') return { value: walk(all(memberAttribute(attribute), []), path) };
  if (kind === 'instances') {
    return attribute === 'InstanceList' ? { value: addresses(list('PublicIp', [])) } : incorrect(parameters);
  }
  if (attribute === 'current_size' && kind === 'scaling') return { value: names.length };
  if (attribute.startsWith('resource.')) return readMember(parameters);
  if (attribute === 'refs')
    return {
      value: walk(
        listed.map((key) => members.reference(key)),
        path,
      ),
    };
  if (attribute === 'refs_map' && kind !== 'chain') {
    return { value: walk(toRecord(named.map((member) => [member.name, members.reference(member.key)])), path) };
  }
  if (attribute === 'removed_rsrc_list' && kind === 'numbered') return { value: [...(parameters.skipped ?? [])] };
  const isMap = attribute === (kind === 'scaling' ? 'outputs' : 'attributes');
  const isList = kind === 'scaling' && attribute === 'outputs_list';
  if (isMap || isList) {
    const [name, ...below] = path;
    if (typeof name !== 'string') return incorrect(parameters);
    return { value: isList ? list(name, below) : all(name, below) };
  }
  return kind === 'scaling' ? incorrect(parameters) : { value: list(attribute, path) };
}

/** Reads a member: `resource.N` is its reference, `resource.N.name` or a path after it one of its attributes. */
function readMember({ group, type, members, attribute, path }: ReadGroup): GroupValue {
  const [wanted = '', ...inner] = attribute.slice('resource.'.length).split(/\.(.*)/s, 2);
  const { names } = members;
  const isPosition = groupKind(type) === 'scaling';
  const name = isPosition ? names.at(/^-?\d+$/.test(wanted) ? Number(wanted) : names.length) : wanted;
  if (name === undefined || !names.includes(name)) {
    return { problem: `Member '${wanted}' not found in group resource '${group}'.` };
  }
  const [first, ...below] = [...inner, ...path];
  if (first === undefined) return { value: members.reference(name) };
  return { value: members.attribute(name, pythonText(first), below) };
}

function addresses(values: readonly PartialValue[]): PartialValue {
  if (values.includes(unknown)) return unknown;
  return values.map((value) => (typeof value === 'string' && value !== '' ? value : '0.0.0.0')).join(',') || null;
}

const incorrect = ({ group, attribute }: ReadGroup): GroupValue => ({
  problem: `The Referenced Attribute (${group} ${attribute}) is incorrect.`,
});
