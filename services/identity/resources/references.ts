/**
 * Finds the objects that properties name, as Heat does: by id, or by name. A name is one in the domain Default, unless a
 * domain follows it in braces: `ann{people}`.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Document } from '@anneal/store/port.ts';
import type { DirectoryReader, RecordReader } from '@anneal/directory/reader.ts';
import type { Grant } from '@anneal/directory/documents.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';

/** A role in one place, as the properties name it. */
export interface NamedRole {
  readonly role: string;
  readonly project?: string | null | undefined;
  readonly domain?: string | null | undefined;
}

const inDomain = /^(?<name>.+)\{(?<domain>[^{}]+)\}$/s;

/** The id of the domain with this id or name. @throws AnnealError InvalidRequest */
export async function domainId({ domains }: Pick<DirectoryReader, 'domains'>, given: string): Promise<string> {
  const found = (await domains.find(given)) ?? (await domains.list({ name: given })).at(0);
  if (!found) throw missing('domain', given);
  return found.id;
}

/** The id of the object with this id or name. @throws AnnealError InvalidRequest */
export async function idIn<T extends Document>(
  directory: Pick<DirectoryReader, 'domains'>,
  records: RecordReader<T>,
  given: string,
): Promise<string> {
  const found = await records.find(given);
  if (found) return found.id;
  const { name = given, domain } = inDomain.exec(given)?.groups ?? {};
  // A role of every domain has the empty domain.
  const usual = records.kind === 'role' ? '' : defaultDomain.id;
  const domain_id = domain === undefined ? usual : await domainId(directory, domain);
  const named = (await records.list({ domain_id, name })).at(0);
  if (!named) throw missing(records.kind, given);
  return named.id;
}

/** The grants that the property `roles` names, each once. @throws AnnealError InvalidRequest */
export async function grantsOf(directory: DirectoryReader, roles: readonly NamedRole[]): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (const { role, project, domain } of roles) {
    if ((project == null) === (domain == null)) {
      throw new AnnealError('InvalidRequest', `The role ${role} needs either a project or a domain.`);
    }
    const role_id = await idIn(directory, directory.roles, role);
    const grant: Grant =
      project == null
        ? { role_id, on: 'domain', id: await domainId(directory, domain ?? ''), inherited: false }
        : { role_id, on: 'project', id: await idIn(directory, directory.projects, project), inherited: false };
    if (!grants.some((each) => isSameGrant(each, grant))) grants.push(grant);
  }
  return grants;
}

/** Whether two grants give the same role in the same place. */
export const isSameGrant = (one: Grant, other: Grant): boolean =>
  one.role_id === other.role_id && one.on === other.on && one.id === other.id && one.inherited === other.inherited;

/**
 * The grants of a holder after the resource `by` wants these and no others. One that exists already stays as it is, and
 * does not become the resource's own.
 */
export function grantsAfter(present: readonly Grant[], wanted: readonly Grant[], by: string): Grant[] {
  const kept = present.filter((grant) => grant.by !== by || wanted.some((each) => isSameGrant(each, grant)));
  const added = wanted.filter((grant) => !kept.some((each) => isSameGrant(each, grant)));
  return [...kept, ...added.map((grant) => ({ ...grant, by }))];
}

const missing = (kind: string, given: string): AnnealError =>
  new AnnealError('InvalidRequest', `Could not find ${kind}: ${given}. Name one that exists, by its id or name.`);
