/**
 * The directory: who exists, and who has which role where. Every gateway reads its revision from the store at each
 * request, and the directory itself when that has changed. So a disabled user or a removed role counts at once at every
 * replica.
 *
 * I1 The first start creates the domain Default, the project and user admin, and the fixed roles. A later start changes
 *    none of them except the password of admin when the setting names another.
 * I2 An id is never used again. Grants of a deleted project, domain or role therefore give nothing, whether or not they
 *    were removed before a crash.
 */
import { adminProject } from '@anneal/contracts/project.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  DuplicateError,
  type Collection,
  type Document,
  type IndexDefinition,
  type Store,
} from '@anneal/store/port.ts';
import { adminUser, defaultDomain, fixedRoles, idOfRole } from '../principals.ts';
import { newUser } from './documents.ts';
import type {
  AccessRuleDocument,
  ApplicationCredentialDocument,
  StoredCredentialDocument,
  DomainDocument,
  EndpointDocument,
  OidcLinkDocument,
  RegionDocument,
  ServiceDocument,
  TrustDocument,
  UserGroupDocument,
  ProjectDocument,
  RoleDocument,
  UserDocument,
} from './documents.ts';
import { Passwords, type StoredPassword } from './passwords.ts';
import { Records } from './records.ts';
import { DirectoryRevision } from './revision.ts';

export interface Directory {
  readonly domains: Records<DomainDocument>;
  readonly projects: Records<ProjectDocument>;
  readonly users: Records<UserDocument>;
  readonly groups: Records<UserGroupDocument>;
  readonly roles: Records<RoleDocument>;
  readonly applicationCredentials: Records<ApplicationCredentialDocument>;
  readonly accessRules: Records<AccessRuleDocument>;
  readonly trusts: Records<TrustDocument>;
  readonly credentials: Records<StoredCredentialDocument>;
  readonly services: Records<ServiceDocument>;
  readonly endpoints: Records<EndpointDocument>;
  readonly regions: Records<RegionDocument>;
  readonly oidcLinks: Records<OidcLinkDocument>;
  readonly passwords: Passwords;
  readonly revision: DirectoryRevision;
}

const named: IndexDefinition = { fields: ['domain_id', 'name'], unique: true };

/**
 * Opens the directory and creates what the first start needs (I1). `password` is that of admin.
 * @throws AnnealError InvalidRequest when admin would have no password
 */
export async function openDirectory({
  store,
  password,
  now,
}: {
  store: Store;
  password: string | undefined;
  now: () => Date;
}): Promise<Directory> {
  const collection = <T extends Document>(
    kind: string,
    indexes: IndexDefinition[],
    listed: readonly string[] = [],
  ): Promise<Collection<T>> => store.collection<T>({ name: `gateway_directory_${kind}`, indexes, listed });
  const [trusts, credentials, services, endpoints, regions, oidcLinks, accessRules] = await Promise.all([
    collection<TrustDocument>('trusts', [{ fields: ['trustor_user_id'] }, { fields: ['trustee_user_id'] }]),
    collection<StoredCredentialDocument>('credentials', [{ fields: ['user_id'] }, { fields: ['access_hash'] }]),
    collection<ServiceDocument>('services', []),
    collection<EndpointDocument>('endpoints', [{ fields: ['service_id'] }]),
    collection<RegionDocument>('regions', []),
    collection<OidcLinkDocument>('oidc_links', [{ fields: ['user_id'] }]),
    collection<AccessRuleDocument>('access_rules', [{ fields: ['user_id'] }]),
  ]);
  const [domains, projects, users, groups, roles, applicationCredentials] = await Promise.all([
    collection<DomainDocument>('domains', [{ fields: ['name'], unique: true }]),
    collection<ProjectDocument>('projects', [named, { fields: ['parent_id'] }], ['enabled', 'description']),
    collection<UserDocument>('users', [named], ['enabled', 'description']),
    collection<UserGroupDocument>('groups', [named]),
    collection<RoleDocument>('roles', [named]),
    collection<ApplicationCredentialDocument>('application_credentials', [
      { fields: ['user_id', 'name'], unique: true },
    ]),
  ]);
  const revision = await DirectoryRevision.open(store);
  const passwords = new Passwords();
  await createIfAbsent(domains, { ...defaultDomain, description: '', enabled: true, tags: [], extra: {} });
  await createIfAbsent(projects, {
    ...adminProject,
    description: '',
    domain_id: defaultDomain.id,
    parent_id: defaultDomain.id,
    enabled: true,
    tags: [],
    extra: {},
  });
  for (const role of fixedRoles) {
    await createIfAbsent(roles, { ...role, domain_id: '', description: null, extra: {} });
  }
  const directory = {
    domains: new Records('domain', domains, revision),
    projects: new Records('project', projects, revision),
    users: new Records('user', users, revision),
    groups: new Records('group', groups, revision),
    roles: new Records('role', roles, revision),
    applicationCredentials: new Records('application_credential', applicationCredentials, revision),
    accessRules: new Records('access rule', accessRules, revision),
    trusts: new Records('trust', trusts, revision),
    credentials: new Records('credential', credentials, revision),
    services: new Records('service', services, revision),
    endpoints: new Records('endpoint', endpoints, revision),
    regions: new Records('region', regions, revision),
    oidcLinks: new Records('link of an OpenID user', oidcLinks, revision),
    passwords,
    revision,
  };
  await keepAdmin({ store, directory, users, password, now });
  return directory;
}

async function createIfAbsent<T extends Document>(
  collection: Collection<T>,
  document: Parameters<Collection<T>['insert']>[0],
): Promise<void> {
  if (await collection.get(document.id)) return;
  try {
    await collection.insert(document);
  } catch (error) {
    // Another replica was faster.
    if (!(error instanceof DuplicateError)) throw error;
  }
}

/** Creates admin with the password of the settings, or gives it that password when it has another. */
async function keepAdmin({
  store,
  directory,
  users,
  password,
  now,
}: {
  store: Store;
  directory: Directory;
  users: Collection<UserDocument>;
  password: string | undefined;
  now: () => Date;
}): Promise<void> {
  const { passwords } = directory;
  const admin = await users.get(adminUser.id);
  const stored = admin?.password ?? (await earlierPassword(store));
  const kept =
    password === undefined || (stored && (await passwords.matches(stored, password)))
      ? stored
      : await passwords.hash(password);
  if (!kept) {
    throw new AnnealError(
      'InvalidRequest',
      'The user admin has no password yet. Set ANNEAL_GATEWAY_ADMIN_PASSWORD (8 characters or more) for the first start.',
    );
  }
  if (!admin) {
    const role_id = idOfRole('admin');
    return createIfAbsent(users, {
      ...newUser({ ...adminUser, domain_id: defaultDomain.id }),
      default_project_id: adminProject.id,
      password: kept,
      grants: [
        { role_id, on: 'project', id: adminProject.id, inherited: false },
        { role_id, on: 'system', id: 'all', inherited: false },
      ],
    });
  }
  if (kept === stored) return;
  const tokens_from = now().toISOString();
  await directory.users.update(adminUser.id, (user) => ({ ...user, password: kept, tokens_from }));
}

/** The password of admin in an installation that had only one user. */
async function earlierPassword(store: Store): Promise<StoredPassword | undefined> {
  const earlier = await store.collection<Document & StoredPassword>({ name: 'gateway_users', indexes: [] });
  const found = await earlier.get(adminUser.name);
  return found && { salt: found.salt, hash: found.hash };
}
