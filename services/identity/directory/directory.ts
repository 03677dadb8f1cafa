/**
 * The directory for its writer: who exists, and who has which role where. Its readers read its revision at each request,
 * and the directory itself when that has changed. So a disabled user or a removed role counts at once at every gateway.
 *
 * I1 The first start creates the domain Default, the project and user admin, and the fixed roles. A later start changes
 *    none of them except the password of admin when the setting names another.
 * I2 An id is never used again. Grants of a deleted project, domain or role therefore give nothing, whether or not they
 *    were removed before a crash.
 */
import { adminProject } from '@anneal/contracts/project.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { openCollections, type DirectoryDocuments, type DirectoryKind } from '@anneal/directory/collections.ts';
import { newUser, type StoredPassword } from '@anneal/directory/documents.ts';
import { adminUser, defaultDomain, fixedRoles, idOfRole } from '@anneal/directory/principals.ts';
import { DirectoryRevision } from '@anneal/directory/revision.ts';
import type { Document, Draft, Store } from '@anneal/store/port.ts';
import { Passwords } from './passwords.ts';
import { Records } from './records.ts';

type Writers = { readonly [K in DirectoryKind]: Records<DirectoryDocuments[K]> };

/** The objects of the directory by kind, for their writer. */
export interface Directory extends Writers {
  readonly passwords: Passwords;
  readonly revision: DirectoryRevision;
}

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
  const revision = await DirectoryRevision.open(store);
  const writers = await openCollections<Writers>(store, (one, collection) => new Records(one, collection, revision));
  const directory: Directory = { ...writers, passwords: new Passwords(), revision };
  const { domains, projects, roles } = directory;
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
  await keepAdmin({ store, directory, password, now });
  return directory;
}

async function createIfAbsent<T extends Document>(records: Records<T>, document: Draft<T>): Promise<void> {
  if (await records.find(document.id)) return;
  try {
    await records.insert(document, document.id);
  } catch (error) {
    // Another replica was faster.
    if (!hasCode(error, 'AlreadyExists')) throw error;
  }
}

/** Creates admin with the password of the settings, or gives it that password when it has another. */
async function keepAdmin({
  store,
  directory,
  password,
  now,
}: {
  store: Store;
  directory: Directory;
  password: string | undefined;
  now: () => Date;
}): Promise<void> {
  const { passwords, users } = directory;
  const admin = await users.find(adminUser.id);
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
  await users.update(adminUser.id, (user) => ({ ...user, password: kept, tokens_from }));
}

/** The password of admin in an installation that had only one user. */
async function earlierPassword(store: Store): Promise<StoredPassword | undefined> {
  const earlier = await store.collection<Document & StoredPassword>({ name: 'gateway_users', indexes: [] });
  const found = await earlier.get(adminUser.name);
  return found && { salt: found.salt, hash: found.hash };
}
