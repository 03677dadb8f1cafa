/** Logging in: identifies the user of a request for a token and finds the scope of the token, as Keystone v3 does. */
import type { Auth, NamedInDomain, Naming } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  accessOfCredential,
  accessOfToken,
  accessOfTrust,
  accessOfUser,
  isExpired,
  type UserAccess,
} from '@anneal/directory/access.ts';
import type { Attempts, AttemptPlace } from '@anneal/runtime/work/attempts.ts';
import type {
  ApplicationCredentialDocument,
  DomainDocument,
  StoredPassword,
  UserDocument,
} from '@anneal/directory/documents.ts';
import type { Directory } from '../directory/directory.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import type { TokenDocument, TokenReader, TokenScope } from '@anneal/directory/tokens.ts';

const methods = ['password', 'token', 'application_credential'] as const;
type Method = (typeof methods)[number];

/** A login that succeeded: the access of the new token and what it is derived from. */
export interface ProvenLogin {
  readonly access: UserAccess;
  readonly scope: TokenScope;
  readonly methods: readonly string[];
  readonly parent?: TokenDocument;
}

/** The user that one method of a login proves. */
interface Proof {
  readonly user: UserDocument;
  readonly parent?: TokenDocument;
  readonly credential?: ApplicationCredentialDocument;
}

export interface LoginOptions {
  readonly directory: Directory;
  readonly tokens: TokenReader;
  readonly attempts: Attempts;
  readonly now: () => Date;
}

/**
 * Checks a login from this address. A credential that was right since the start is never slowed down: failures are
 * counted by address and user, and by address.
 * @throws AnnealError Unauthorized for wrong credentials and for a scope without a role; InvalidRequest for missing
 *   data; LimitReached while the place has to wait
 */
export async function logIn(options: LoginOptions, auth: Auth, from: string): Promise<ProvenLogin> {
  const wanted = [...new Set(auth.identity.methods)];
  const known = wanted.filter((method): method is Method => methods.some((each) => each === method));
  if (known.length < wanted.length) {
    throw new AnnealError(
      'Unauthorized',
      `Attempted to authenticate with an unsupported method. The methods are ${methods.join(', ')}.`,
    );
  }
  const proofs: Proof[] = [];
  for (const method of known) {
    proofs.push(await proofBy[method](options, auth, from));
  }
  const [{ user } = refuse()] = proofs;
  if (proofs.some((each) => each.user.id !== user.id)) refuse();
  const credential = proofs.find((each) => each.credential)?.credential;
  const parent = proofs.find((each) => each.parent)?.parent;
  if (parent?.application_credential_id !== undefined || parent?.trust_id !== undefined) {
    throw new AnnealError(
      'Forbidden',
      'You are not authorized to perform the requested action: Using a delegated token to create another token is not allowed.',
    );
  }
  const trust = typeof auth.scope === 'object' ? auth.scope['OS-TRUST:trust'] : undefined;
  const scoped = credential
    ? await byCredential(options, { user, credential, auth })
    : trust && Object.keys(auth.scope ?? {}).length === 1
      ? await byTrust(options, { user, id: trust.id })
      : await byScope(options, { user, auth, parent });
  return { ...scoped, methods: wanted, ...(parent && { parent }) };
}

const proofBy: Record<Method, (options: LoginOptions, auth: Auth, from: string) => Promise<Proof>> = {
  async password({ directory, attempts }, { identity }, from) {
    const { user: named, password } = { user: identity.password?.user, password: identity.password?.user.password };
    if (!named || password === undefined) throw missing('password', 'identity');
    const user = await findUser(directory, named);
    const place = { address: from, name: user?.id ?? named.id ?? named.name };
    await checkSecret({ directory, attempts, place }, user?.password, password);
    return { user: user ?? refuse() };
  },

  async token({ tokens, directory, attempts, now }, { identity }, from) {
    if (!identity.token) throw missing('token', 'identity');
    const parent = await tokens.find(identity.token.id);
    const access = parent && (await accessOfToken(directory, parent, now()));
    if (!access) return refuseAt(attempts, { address: from, name: 'a token' });
    return { user: access.user, parent };
  },

  async application_credential({ directory, attempts, now }, { identity }, from) {
    const named = identity.application_credential;
    if (!named) throw missing('application_credential', 'identity');
    const credential = await findCredential(directory, named);
    const place = { address: from, name: credential?.id ?? named.id ?? named.name };
    await checkSecret({ directory, attempts, place }, credential?.secret, named.secret);
    if (!credential || isExpired(credential, now())) return refuse();
    return { user: (await directory.users.find(credential.user_id)) ?? refuse(), credential };
  },
};

/**
 * Checks a password or a secret. Also hashes for an unknown user, or the response time would tell which names exist.
 * @throws AnnealError Unauthorized for a wrong one, LimitReached while the place has to wait
 */
export async function checkSecret(
  { directory: { passwords }, attempts, place }: { directory: Directory; attempts: Attempts; place: AttemptPlace },
  stored: StoredPassword | null | undefined,
  given: string,
): Promise<void> {
  const remembered = stored ? passwords.remembers(stored, given) : false;
  if (!remembered) {
    // Before the first successful login since the start, this password may be the right one. Only an address with very many
    // failures waits then, or a client could go on guessing.
    attempts.check(remembered === false ? place : { address: place.address });
    if (!(await passwords.matches(stored, given))) refuseAt(attempts, place);
  }
  attempts.succeeded(place);
}

async function byCredential(
  { directory }: LoginOptions,
  { user, credential, auth }: { user: UserDocument; credential: ApplicationCredentialDocument; auth: Auth },
): Promise<{ access: UserAccess; scope: TokenScope }> {
  if (auth.scope !== undefined) {
    throw new AnnealError(
      'Unauthorized',
      'Error authenticating with application credential: Application credentials cannot request a scope.',
    );
  }
  const access = await accessOfCredential(directory, user, credential);
  return { access: access ?? refuse(), scope: { project_id: credential.project_id } };
}

/**
 * Takes one use of a trust.
 * @throws AnnealError Unauthorized for an unknown, expired or used up trust; Forbidden for another user than the trustee
 */
async function byTrust(
  { directory, now }: LoginOptions,
  { user, id }: { user: UserDocument; id: string },
): Promise<{ access: UserAccess; scope: TokenScope }> {
  const trust = await directory.trusts.find(id);
  if (!trust || isExpired(trust, now())) return refuse();
  if (trust.trustee_user_id !== user.id) {
    throw new AnnealError('Forbidden', 'User is not a trustee. Only the trustee of a trust may use it.');
  }
  const access = (await accessOfTrust(directory, trust)) ?? refuse();
  if (trust.remaining_uses !== null) {
    await directory.trusts.update(id, (present) => {
      if (present.remaining_uses === 0) refuse();
      return { ...present, remaining_uses: (present.remaining_uses ?? 1) - 1 };
    });
  }
  return { access, scope: { project_id: trust.project_id } };
}

const unscoped: TokenScope = { project_id: null };

async function byScope(
  { directory }: LoginOptions,
  { user, auth, parent }: { user: UserDocument; auth: Auth; parent: TokenDocument | undefined },
): Promise<{ access: UserAccess; scope: TokenScope }> {
  const wanted = await wantedScope(directory, auth);
  if (wanted === undefined) {
    // Without a scope, a login gets the user's default project when the user has a role there.
    const fallback = parent ? null : user.default_project_id;
    const scope = { project_id: fallback };
    const access = fallback === null ? undefined : await accessOfUser(directory, user, scope);
    if (access) return { access, scope };
  }
  const { scope, what } = wanted ?? { scope: unscoped, what: '' };
  const access = scope && (await accessOfUser(directory, user, scope));
  if (scope && access) return { access, scope };
  throw new AnnealError(
    'Unauthorized',
    what === ''
      ? 'The request you have made requires authentication.'
      : `The user ${user.name} has no role in ${what}, or it does not exist or is disabled.`,
  );
}

/** `scope` is undefined for an object that does not exist; the whole for a login that names no scope. */
async function wantedScope(
  directory: Directory,
  { scope }: Auth,
): Promise<{ scope: TokenScope | undefined; what: string } | undefined> {
  if (scope === undefined) return undefined;
  if (scope === 'unscoped') return { scope: unscoped, what: '' };
  const given = Object.keys(scope);
  const known = ['project', 'domain', 'system', 'unscoped'];
  if (given.length !== 1 || !known.includes(given[0] ?? '')) {
    throw new AnnealError(
      'InvalidRequest',
      `Expecting to find system, project, domain, OS-TRUST:trust or unscoped in scope. ${malformed}`,
    );
  }
  const { project, domain, system } = scope;
  if (project) {
    const found = await findProject(directory, project);
    return {
      scope: found === undefined ? undefined : { project_id: found },
      what: `the project ${project.name ?? project.id ?? '(not named)'}`,
    };
  }
  if (domain) {
    const found = await findDomain(directory, domain);
    const what = `the domain ${domain.name ?? domain.id ?? '(not named)'}`;
    return { scope: found && { project_id: null, domain_id: found.id }, what };
  }
  return system ? { scope: { project_id: null, system: true }, what: 'the system' } : { scope: unscoped, what: '' };
}

async function findUser(directory: Directory, named: NamedInDomain): Promise<UserDocument | undefined> {
  if (named.id !== undefined) {
    const found = await directory.users.find(named.id);
    return found && (named.name === undefined || named.name === found.name) ? found : undefined;
  }
  if (named.name === undefined) throw missing('user', 'password');
  const domain = await findDomain(directory, named.domain);
  return domain && (await directory.users.list({ domain_id: domain.id, name: named.name }))[0];
}

async function findProject(directory: Directory, named: NamedInDomain): Promise<string | undefined> {
  if (named.id !== undefined) return named.id;
  if (named.name === undefined) throw missing('name or id', 'project');
  const domain = await findDomain(directory, named.domain);
  return domain && (await directory.projects.list({ domain_id: domain.id, name: named.name }))[0]?.id;
}

/** The named domain; Default when none is named. The name of Default may be in lower case, as clients write it. */
async function findDomain(directory: Directory, named: Naming | undefined): Promise<DomainDocument | undefined> {
  const { id, name } = named ?? { id: defaultDomain.id };
  if (id !== undefined) return directory.domains.find(id);
  if (name === undefined) throw missing('name or id', 'domain');
  if (name.toLowerCase() === defaultDomain.name.toLowerCase()) return directory.domains.find(defaultDomain.id);
  return (await directory.domains.list({ name }))[0];
}

async function findCredential(
  directory: Directory,
  { id, name, user: named }: Naming & { user?: NamedInDomain | undefined },
): Promise<ApplicationCredentialDocument | undefined> {
  if (id !== undefined) return directory.applicationCredentials.find(id);
  if (name === undefined || !named) throw missing('user', 'application credential');
  const user = await findUser(directory, named);
  return user && (await directory.applicationCredentials.list({ user_id: user.id, name }))[0];
}

const malformed =
  'The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.';

const missing = (what: string, where: string): AnnealError =>
  new AnnealError('InvalidRequest', `Expecting to find ${what} in ${where}. ${malformed}`);

function refuseAt(attempts: Attempts, place: AttemptPlace): never {
  attempts.refused(place);
  return refuse();
}

function refuse(): never {
  throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
}
