/**
 * Credentials: secrets that the identity API keeps for users, sealed at rest. EC2 keys are those of type `ec2`, and log
 * in by a signed request.
 */
import { createHash, randomBytes } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseField } from '../../http/input.ts';
import { described } from '../../http/document.ts';
import { ec2Signature } from '../ec2-signature.ts';
import { accessOfUser, rolesIn, scopeOfProject, type UserAccess } from '../access.ts';
import { AddedCatalogs } from '../catalog.ts';
import type { StoredCredentialDocument } from '../directory/documents.ts';
import { mayUse, notAuthorized } from '../identity-policy.ts';
import { tokenBody, tokenSchema } from './auth-routes.ts';
import {
  accessOf,
  allow,
  describeKind,
  keystoneId,
  linkTo,
  listDescription,
  pageOfList,
  paramsOf,
  readObject,
  rowSchema,
  selfLink,
  type KeystoneOptions,
} from './shape.ts';

const fields = {
  type: z.string().min(1).max(255),
  blob: z.string().max(65_535),
  user_id: z.string().optional(),
  project_id: z.string().nullable().optional(),
};
const changes = { blob: fields.blob.optional() };

const kind = describeKind({
  kind: 'credential',
  plural: 'credentials',
  row: rowSchema({ type: z.string(), user_id: z.string(), project_id: z.string().nullable(), blob: z.string() }).meta({
    id: 'Credential',
  }),
  fields,
  changes,
  filters: ['user_id', 'type'],
});
const ec2KeySchema = z
  .object({
    user_id: z.string(),
    tenant_id: z.string().nullable(),
    access: z.string(),
    secret: z.string(),
    trust_id: z.null(),
    links: selfLink,
  })
  .meta({ id: 'Ec2Key' });
const oneEc2Key = z.object({ credential: ec2KeySchema });
const wantedKey = z.object({ tenant_id: z.string() });

interface Ec2Key {
  readonly access: string;
  readonly secret: string;
}

const hashOf = (access: string): string => createHash('sha256').update(access).digest('hex');

/** @throws AnnealError InvalidRequest for a blob of type ec2 without both keys */
function ec2KeyOf(blob: string): Ec2Key {
  const read = jsonIn(blob);
  const { access, secret } = isObject(read) ? read : {};
  if (typeof access === 'string' && access !== '' && typeof secret === 'string') return { access, secret };
  throw new AnnealError(
    'InvalidRequest',
    'Invalid blob in credential: it must be JSON with the texts access and secret.',
  );
}

/** `/v3/credentials`, `/v3/users/{user}/credentials/OS-EC2`, `/v3/ec2tokens` */
export function credentialRoutes(scope: FastifyInstance, options: KeystoneOptions): void {
  generalRoutes(scope, options);
  ec2Routes(scope, options);
  ec2Login(scope, options);
}

/** A program that acts for a user must not read the user's secrets. */
function refuseDelegated(request: FastifyRequest): void {
  const { applicationCredential: used, trust } = accessOf(request);
  if (trust || (used && !used.unrestricted))
    throw notAuthorized('Delegated tokens cannot access credentials directly.');
}

type Credentials = Pick<KeystoneOptions, 'directory' | 'secrets'>;

const textOf = ({ secrets }: Credentials, { blob }: StoredCredentialDocument): string =>
  secrets.open<JsonObject>(blob) as unknown as string;

/** The EC2 key of a user. `access` is what its user may do in the project of the key; undefined for nothing. */
export interface UserEc2Key {
  readonly secret: string;
  readonly projectId: string | null;
  access(): Promise<UserAccess | undefined>;
}

/** Undefined for an unknown key. */
export async function ec2Key(credentials: Credentials, accessKey: string): Promise<UserEc2Key | undefined> {
  const { directory } = credentials;
  const [key] = await directory.credentials.list({ access_hash: hashOf(accessKey) });
  if (!key || key.type !== 'ec2') return undefined;
  return {
    secret: ec2KeyOf(textOf(credentials, key)).secret,
    projectId: key.project_id,
    async access() {
      const user = await directory.users.find(key.user_id);
      return user && accessOfUser(directory, user, { project_id: key.project_id });
    },
  };
}

function generalRoutes(scope: FastifyInstance, options: KeystoneOptions): void {
  const { directory, secrets, newId } = options;
  const { credentials, users, projects } = directory;
  const rowOf = (request: FastifyRequest, found: StoredCredentialDocument): JsonObject => {
    const { id, type, user_id, project_id } = found;
    return { id, type, user_id, project_id, blob: textOf(options, found), links: linkTo(request, `credentials/${id}`) };
  };
  /** As in Keystone, an unknown id is 403 for a user who may read only own ones. */
  const found = async (request: FastifyRequest, rule: 'get_credential' | 'change_credential') => {
    refuseDelegated(request);
    const { id = '' } = paramsOf(request);
    const credential = await credentials.find(id);
    allow(request, rule, { userId: credential?.user_id });
    if (!credential) throw credentials.absent(id);
    return credential;
  };

  scope.get('/v3/credentials', kind.lists, async (request) => {
    refuseDelegated(request);
    const access = accessOf(request);
    const where = mayUse('list_credentials', access, {}) ? {} : { user_id: access.user.id };
    const rows = (await credentials.list(where)).map((row) => rowOf(request, row));
    return pageOfList(request, 'credentials', { rows, filters: ['user_id', 'type'] });
  });

  scope.post('/v3/credentials', kind.creates, async (request, reply) => {
    refuseDelegated(request);
    const { known } = readObject(request, 'credential', fields);
    const { type, blob, user_id = accessOf(request).user.id, project_id = null } = known;
    allow(request, 'change_credential', { userId: user_id });
    await users.get(user_id);
    if (project_id !== null) await projects.get(project_id);
    else if (type === 'ec2')
      throw new AnnealError('InvalidRequest', 'project_id is required for a credential of type ec2.');
    const access_hash = type === 'ec2' ? hashOf(ec2KeyOf(blob).access) : '';
    const id = access_hash === '' ? keystoneId(newId) : access_hash;
    const draft = { id, type, user_id, project_id, blob: secrets.seal(blob), access_hash };
    const made = await credentials.insert(draft, 'Duplicate entry found with this access key.');
    return reply.code(201).send({ credential: rowOf(request, made) });
  });

  scope.get('/v3/credentials/:id', kind.shows, async (request) => ({
    credential: rowOf(request, await found(request, 'get_credential')),
  }));

  scope.patch('/v3/credentials/:id', kind.updates, async (request) => {
    const present = await found(request, 'change_credential');
    const { known, extra } = readObject(request, 'credential', changes);
    const given = Object.entries(extra).find(
      ([name, value]) => value !== present[name as keyof StoredCredentialDocument],
    );
    if (given)
      throw new AnnealError('InvalidRequest', `Cannot change ${given[0]}: only the blob of a credential changes.`);
    const { blob = textOf(options, present) } = known;
    const access_hash = present.type === 'ec2' ? hashOf(ec2KeyOf(blob).access) : '';
    const changed = await credentials.update(present.id, (each) => ({
      ...each,
      blob: secrets.seal(blob),
      access_hash,
    }));
    return { credential: rowOf(request, changed) };
  });

  scope.delete('/v3/credentials/:id', kind.removes, async (request, reply) => {
    await credentials.remove((await found(request, 'change_credential')).id);
    return reply.code(204).send();
  });
}

function ec2Routes(scope: FastifyInstance, options: KeystoneOptions): void {
  const { directory, secrets } = options;
  const { credentials, users, projects } = directory;
  const all = '/v3/users/:user/credentials/OS-EC2';
  const rowOf = (request: FastifyRequest, found: StoredCredentialDocument): JsonObject => {
    const { access, secret } = ec2KeyOf(textOf(options, found));
    const { user_id, project_id } = found;
    const links = linkTo(request, `users/${user_id}/credentials/OS-EC2/${access}`);
    return { user_id, tenant_id: project_id, access, secret, trust_id: null, links };
  };
  const userFor = async (request: FastifyRequest, rule: 'get_credential' | 'change_credential') => {
    const { user = '' } = paramsOf(request);
    allow(request, rule, { userId: user });
    refuseDelegated(request);
    return users.get(user);
  };
  const found = async (request: FastifyRequest, rule: 'get_credential' | 'change_credential') => {
    const user = await userFor(request, rule);
    const { access = '' } = paramsOf(request);
    const key = (await credentials.list({ access_hash: hashOf(access) })).find(({ user_id }) => user_id === user.id);
    if (!key) throw credentials.absent(access);
    return key;
  };

  const listsKeys = described({
    summary: 'List the EC2 keys of a user.',
    ...listDescription('credentials', ec2KeySchema, []),
  });
  scope.get(all, listsKeys, async (request) => {
    const user = await userFor(request, 'get_credential');
    const keys = (await credentials.list({ user_id: user.id })).filter(({ type }) => type === 'ec2');
    return pageOfList(request, 'credentials', { rows: keys.map((key) => rowOf(request, key)), filters: [] });
  });

  const createsKey = described({
    summary: 'Create an EC2 key of a user in a project.',
    body: wantedKey,
    status: 201,
    answer: oneEc2Key,
  });
  scope.post(all, createsKey, async (request, reply) => {
    const user = await userFor(request, 'change_credential');
    const { tenant_id } = parseField(wantedKey, request.body ?? {}, 'The EC2 key');
    const project = await projects.get(tenant_id);
    if ((await rolesIn(directory, user, await scopeOfProject(directory, project))).length === 0) {
      throw projects.absent(tenant_id);
    }
    const access = randomBytes(16).toString('hex');
    const blob = secrets.seal(JSON.stringify({ access, secret: randomBytes(16).toString('hex') }));
    const access_hash = hashOf(access);
    const draft = { id: access_hash, type: 'ec2', user_id: user.id, project_id: project.id, blob, access_hash };
    const made = await credentials.insert(draft, 'Duplicate entry found with this access key.');
    return reply.code(201).send({ credential: rowOf(request, made) });
  });

  scope.get(`${all}/:access`, described({ summary: 'Show an EC2 key.', answer: oneEc2Key }), async (request) => ({
    credential: rowOf(request, await found(request, 'get_credential')),
  }));

  scope.delete(`${all}/:access`, described({ summary: 'Delete an EC2 key.' }), async (request, reply) => {
    await credentials.remove((await found(request, 'change_credential')).id);
    return reply.code(204).send();
  });
}

const signedSchema = z.object({
  access: z.string(),
  signature: z.string().optional(),
  host: z.string(),
  verb: z.string(),
  path: z.string(),
  params: z.record(z.string(), z.string()).default({}),
  headers: z.record(z.string(), z.string()).default({}),
  body_hash: z.string().optional(),
});
const loginSchema = z
  .object({ ec2Credentials: signedSchema.optional(), credentials: signedSchema.optional() })
  .transform(({ ec2Credentials, credentials }) => ec2Credentials ?? credentials);

/** A service asks for the token of the user whose EC2 key signed a request. */
function ec2Login(scope: FastifyInstance, options: KeystoneOptions): void {
  const { directory, tokens, region } = options;
  const catalogs = new AddedCatalogs(directory);
  const logsIn = described({
    summary: 'Exchange a request that an EC2 key signed for a token, for services.',
    body: z.object({ ec2Credentials: signedSchema.optional(), credentials: signedSchema.optional() }),
    answer: z.object({ token: tokenSchema }),
  });
  scope.post('/v3/ec2tokens', logsIn, async (request, reply) => {
    if (!accessOf(request).roles.some(({ name }) => name === 'service')) allow(request, 'ec2tokens_validate');
    const signed = parseField(loginSchema, request.body ?? {}, 'The signed request');
    if (!signed) throw new AnnealError('InvalidRequest', 'The signed request is missing: {"ec2Credentials": {…}}.');
    const key = await ec2Key(options, signed.access);
    if (!key) throw new AnnealError('NotFound', 'EC2 access key not found.');
    const pairs = Object.entries(signed.params);
    const { signature: given = '' } = signed;
    const headers = Object.fromEntries(
      Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const signature = ec2Signature({
      method: signed.verb,
      host: signed.host,
      path: signed.path,
      // Version 4 has its signature in a header.
      query: 'authorization' in headers || 'Signature' in signed.params ? pairs : [...pairs, ['Signature', given]],
      form: [],
      headers,
      body: new Uint8Array(),
      bodyHash: signed.body_hash,
    });
    const access = await key.access();
    if (signature?.accessKey !== signed.access || !signature.isOf(key.secret) || !access) {
      throw new AnnealError('Unauthorized', 'EC2 signature not supplied or wrong.');
    }
    const issued = { userId: access.user.id, scope: { project_id: key.projectId }, methods: ['ec2credential'] };
    const { text, document } = await tokens.issue(issued);
    const token = tokenBody(request, { token: document, access, region, added: await catalogs.read() });
    return reply.code(200).headers({ 'x-subject-token': text, vary: 'X-Auth-Token' }).send({ token });
  });
}
