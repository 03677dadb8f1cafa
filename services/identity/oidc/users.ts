/**
 * The users of an OpenID provider in the directory. They are in a domain of their own, so that no name at the provider
 * can be that of another user.
 *
 * U1 The subject at the provider identifies a user, and never the name alone. A link from the subject to the user is made
 *    at the first login. A user whom an operator created in that domain is linked when the name is the same, no other
 *    subject has the user, and the user has no password.
 * U2 Each login replaces the roles that the mapping gave and the groups of that domain. Other roles and groups stay. A
 *    login whose claims say nothing about groups only adds the roles of every user.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Directory } from '../directory/directory.ts';
import { newUser, type DomainDocument, type Grant, type UserDocument } from '@anneal/directory/documents.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import type { ClaimedUser, MappedRole } from './claims.ts';

export interface OidcUsersOptions {
  readonly directory: Directory;
  /** The name of the provider, which is also that of its domain. */
  readonly name: string;
  readonly issuer: string;
  /** Whether the first login creates the user. */
  readonly creates: boolean;
  /** A new id in Keystone's form. */
  readonly newId: () => string;
}

/** Two first logins of one user at the same time: the slower one finds the user of the faster. */
const mostTries = 3;

/** The present user of these claims, created or linked at the first login. @throws AnnealError Forbidden, Unauthorized */
export async function userOfClaims(options: OidcUsersOptions, claimed: ClaimedUser): Promise<UserDocument> {
  const domain = await domainOf(options);
  const user = await linkedUser(options, claimed, domain);
  if (!user.enabled || !domain.enabled) throw new AnnealError('Unauthorized', `The user ${user.name} is disabled.`);
  return withClaims(options.directory, { user, claimed, domain });
}

async function domainOf({ directory: { domains }, name, newId }: OidcUsersOptions): Promise<DomainDocument> {
  const [found] = await domains.list({ name });
  if (found) return found;
  const draft = { id: newId(), name, description: 'Users of the OpenID provider', enabled: true, tags: [], extra: {} };
  return domains.insert(draft, `a domain ${name} exists`).catch(async (error: unknown) => {
    const [made] = await domains.list({ name });
    if (made) return made;
    throw error;
  });
}

async function linkedUser(
  options: OidcUsersOptions,
  claimed: ClaimedUser,
  domain: DomainDocument,
): Promise<UserDocument> {
  const { directory, issuer } = options;
  const id = createHash('sha256').update(`${issuer}\n${claimed.subject}`).digest('hex');
  for (let tries = 1; ; tries += 1) {
    const link = await directory.oidcLinks.find(id);
    const linked = link && (await directory.users.find(link.user_id));
    if (linked) return linked;
    if (link) await directory.oidcLinks.remove(id);
    try {
      const user = await unlinkedUser(options, claimed, domain);
      await directory.oidcLinks.insert({ id, user_id: user.id }, 'another login linked it');
      return user;
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists') || tries === mostTries) throw error;
    }
  }
}

/** U1 */
async function unlinkedUser(
  { directory, creates, newId }: OidcUsersOptions,
  { name }: ClaimedUser,
  domain: DomainDocument,
): Promise<UserDocument> {
  const [found] = await directory.users.list({ domain_id: domain.id, name });
  if (!found && !creates) {
    throw new AnnealError('Forbidden', `The user ${name} may not use this server.`, {
      details: { remedy: `An operator creates the user first: openstack user create --domain ${domain.name} ${name}` },
    });
  }
  if (!found) {
    const draft = newUser({ id: newId(), name, domain_id: domain.id });
    return directory.users.insert(draft, `a user ${name} exists in the domain ${domain.name}`);
  }
  const links = await directory.oidcLinks.list({ user_id: found.id });
  if (found.password === null && links.length === 0) return found;
  throw new AnnealError(
    'Forbidden',
    `The name ${name} belongs to another user of the domain ${domain.name}, so this login may not use it.`,
    { details: { remedy: 'An operator renames or deletes the other user.' } },
  );
}

/** U2 */
async function withClaims(
  directory: Directory,
  { user, claimed, domain }: { user: UserDocument; claimed: ClaimedUser; domain: DomainDocument },
): Promise<UserDocument> {
  const [ofDomain, mapped] = await Promise.all([
    directory.groups.list({ domain_id: domain.id }),
    grantsOf(directory, claimed.roles),
  ]);
  const change = (present: UserDocument): UserDocument => {
    const { groups } = claimed;
    const own = groups ? present.grants.filter(({ from }) => from !== 'oidc') : present.grants;
    const isOwn = (grant: Grant): boolean => own.some((each) => isSame(each, grant));
    return {
      ...present,
      grants: [...own, ...mapped.filter((grant) => !isOwn(grant))],
      groups: groups
        ? [
            ...present.groups.filter((id) => !ofDomain.some((group) => group.id === id)),
            ...ofDomain.filter(({ name }) => groups.includes(name)).map(({ id }) => id),
          ]
        : present.groups,
    };
  };
  // Most logins change nothing, and a change makes every gateway read the directory again.
  return isDeepStrictEqual(change(user), user) ? user : directory.users.update(user.id, change);
}

const isSame = (one: Grant, other: Grant): boolean =>
  one.role_id === other.role_id && one.on === other.on && one.id === other.id && one.inherited === other.inherited;

/** The grants of mapped roles. A project or a role that does not exist gives none: an operator may create it later. */
async function grantsOf({ projects, roles }: Directory, mapped: readonly MappedRole[]): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (const { role, project } of mapped) {
    const [[named], byId, [found]] = await Promise.all([
      projects.list({ domain_id: defaultDomain.id, name: project }),
      projects.find(project),
      roles.list({ domain_id: '', name: role }),
    ]);
    const on = named ?? byId;
    if (!on || !found) continue;
    const grant: Grant = { role_id: found.id, on: 'project', id: on.id, inherited: false, from: 'oidc' };
    if (!grants.some((each) => isSame(each, grant))) grants.push(grant);
  }
  return grants;
}
