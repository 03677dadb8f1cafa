/** The data of a context: what its hosts publish, for templates, configs and API clients. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { ContextData, ContextMember } from '@anneal/contracts/calls/context.ts';
import { sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { HostDocument } from '../collections.ts';
import { strings } from '../configs/derive.ts';

export interface MemberSpec {
  readonly host: string;
  readonly roles: readonly string[];
}

type KnownHost = Pick<HostDocument, 'id' | 'name' | 'status' | 'facts'>;

/** Reads `members`: by role one host id, a list of ids, or a map with ids as values. */
export function readMembers(property: Json | undefined): MemberSpec[] {
  const roles = new Map<string, string[]>();
  for (const [role, value] of Object.entries((property ?? {}) as JsonObject)) {
    const ids = typeof value === 'object' && value !== null ? Object.values(value) : [value];
    for (const host of new Set(strings(ids))) roles.set(host, [...(roles.get(host) ?? []), role]);
  }
  return [...roles].map(([host, of]) => ({ host, roles: of }));
}

/** The data without its version. Leaves out hosts that do not exist or are being deleted. */
export function contextContent(
  { members, facts }: { members: readonly MemberSpec[]; facts: readonly string[] },
  hosts: readonly KnownHost[],
): Omit<ContextData, 'version'> {
  const known = new Map(hosts.map((host) => [host.id, host]));
  const present = members.flatMap(({ host: id, roles }): ContextMember[] => {
    const host = known.get(id);
    if (!host || host.status === 'deleting' || host.status === 'expected') return [];
    const addresses = strings(host.facts['addresses']);
    const [address = null] = [...strings(host.facts['address']), ...addresses];
    const chosen = facts.filter((name) => Object.hasOwn(host.facts, name));
    return [
      {
        name: host.name,
        host: id,
        roles: [...roles],
        state: host.status,
        address,
        addresses,
        facts: toRecord(chosen.map((name) => [name, host.facts[name] ?? null])),
      },
    ];
  });
  const sorted = present.toSorted((a, b) => order(a.name, b.name) || order(a.host, b.host));
  const byRole = (read: (member: ContextMember) => string | null): Record<string, string[]> =>
    toRecord(
      [...new Set(members.flatMap(({ roles }) => roles))].map((role) => [
        role,
        sorted.filter(({ roles }) => roles.includes(role)).flatMap((member) => read(member) ?? []),
      ]),
    );
  return { members: sorted, names: byRole(({ name }) => name), addresses: byRole(({ address }) => address) };
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The next version of the data. Undefined when the content is the same. */
export function nextData(before: ContextData, content: Omit<ContextData, 'version'>): ContextData | undefined {
  const { version, ...old } = before;
  if (version > 0 && sameJson(old, content)) return undefined;
  return { version: version + 1, ...content };
}

export const noData: ContextData = { version: 0, members: [], names: {}, addresses: {} };

const mostNames = 100;

/** The members that differ between two versions, by name. */
export function differenceOf(before: ContextData, after: ContextData) {
  const old = new Map(before.members.map((member) => [member.host, member]));
  const now = new Set(after.members.map(({ host }) => host));
  const names = (members: readonly ContextMember[]): string[] => members.slice(0, mostNames).map(({ name }) => name);
  return {
    joined: names(after.members.filter(({ host }) => !old.has(host))),
    left: names(before.members.filter(({ host }) => !now.has(host))),
    changed: names(
      after.members.filter((member) => {
        const earlier = old.get(member.host);
        return earlier && !sameJson(earlier, member);
      }),
    ),
  };
}

/** The inputs that each config of a context gets on one member, besides its own. */
export function inputsFor(data: ContextData, member: ContextMember): JsonObject {
  return {
    context: data,
    context_version: data.version,
    context_name: member.name,
    context_roles: member.roles.join(','),
    // For scripts without a JSON parser.
    context_members: data.members
      .map(({ name, address, roles, state }) => `${name} ${address ?? '-'} ${roles.join(',')} ${state}\n`)
      .join(''),
  };
}
