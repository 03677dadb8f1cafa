/**
 * Credentials: secrets that the identity API keeps for users, sealed at rest. EC2 keys are those of type `ec2`, and log
 * in by a signed request.
 */
import { createHash, randomBytes } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { accessOfUser, rolesIn, scopeOfProject, type UserAccess } from '@anneal/directory/access.ts';
import { AddedCatalogs } from '../catalog.ts';
import type { StoredCredentialDocument } from '@anneal/directory/documents.ts';
import { ec2Signature } from '../ec2-signature.ts';
import { mayUse, notAuthorized } from '@anneal/directory/policy.ts';
import { answerWithToken, nocatalogQuery, tokenSchema } from './auth-routes.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { accessOf, allow, keystoneId, linkTo, rowSchema, selfLink, type KeystoneOptions } from './shape.ts';

const fields = {
  type: z.string().min(1).max(255),
  blob: z.string().max(65_535),
  user_id: z.string().optional(),
  project_id: z.string().nullable().optional(),
};

const credentialSchema = rowSchema({
  type: z.string(),
  user_id: z.string(),
  project_id: z.string().nullable(),
  blob: z.string(),
}).meta({ id: 'Credential' });
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
export const credentialRoutes = (options: KeystoneOptions): Route[] => [
  ...generalRoutes(options),
  ...ec2Routes(options),
  ec2Login(options),
];

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

function generalRoutes(options: KeystoneOptions): Route[] {
  const { directory, secrets, newId } = options;
  const { credentials, users, projects } = directory;
  const hashIn = (type: string, blob: string): string => (type === 'ec2' ? hashOf(ec2KeyOf(blob).access) : '');
  return kindRoutes({
    kind: 'credential',
    plural: 'credentials',
    path: '/v3/credentials/{id}',
    row: credentialSchema,
    form(request, found) {
      const { id, type, user_id, project_id } = found;
      const links = linkTo(request, `credentials/${id}`);
      return { id, type, user_id, project_id, blob: textOf(options, found), links };
    },
    fields,
    filters: ['user_id', 'type'],
    records: credentials,
    rules: checkedByKind,
    list({ request }) {
      refuseDelegated(request);
      const access = accessOf(request);
      return credentials.list(mayUse('list_credentials', access, {}) ? {} : { user_id: access.user.id });
    },
    /** As in Keystone, an unknown id is 403 for a user who may read only own ones. */
    async find({ params: { id }, request }, action) {
      refuseDelegated(request);
      const credential = await credentials.find(id);
      const rule = action === 'get' ? 'get_credential' : 'change_credential';
      allow(request, rule, { userId: credential?.user_id });
      if (!credential) throw credentials.absent(id);
      return credential;
    },
    async create({ type, blob, user_id: wanted, project_id = null }, { request }) {
      refuseDelegated(request);
      const user_id = wanted ?? accessOf(request).user.id;
      allow(request, 'change_credential', { userId: user_id });
      await users.get(user_id);
      if (project_id !== null) await projects.get(project_id);
      else if (type === 'ec2')
        throw new AnnealError('InvalidRequest', 'project_id is required for a credential of type ec2.');
      const access_hash = hashIn(type, blob);
      const draft = { id: access_hash || keystoneId(newId), type, user_id, project_id, access_hash };
      return credentials.insert({ ...draft, blob: secrets.seal(blob) }, takenKey);
    },
    change({ blob: wanted, extra, ...given }, present) {
      const other = Object.entries({ ...given, ...extra }).find(
        ([name, value]) => value !== present[name as keyof StoredCredentialDocument],
      );
      if (other)
        throw new AnnealError('InvalidRequest', `Cannot change ${other[0]}: only the blob of a credential changes.`);
      const blob = wanted ?? textOf(options, present);
      const access_hash = hashIn(present.type, blob);
      return credentials.update(present.id, (each) => ({ ...each, blob: secrets.seal(blob), access_hash }));
    },
  });
}

const takenKey = 'Duplicate entry found with this access key.';

function ec2Routes(options: KeystoneOptions): Route[] {
  const { directory, secrets } = options;
  const { credentials, users, projects } = directory;
  const all = '/v3/users/{user}/credentials/OS-EC2';
  const form = (request: FastifyRequest, key: StoredCredentialDocument): JsonObject => {
    const { access, secret } = ec2KeyOf(textOf(options, key));
    const { user_id, project_id } = key;
    const links = linkTo(request, `users/${user_id}/credentials/OS-EC2/${access}`);
    return { user_id, tenant_id: project_id, access, secret, trust_id: null, links };
  };
  const place = ({ params, request }: { params: { readonly user: string }; request: FastifyRequest }) => {
    refuseDelegated(request);
    return { userId: params.user };
  };
  return [
    ...kindRoutes({
      kind: 'credential',
      title: 'EC2 key',
      summary: 'List the EC2 keys of a user.',
      plural: 'credentials',
      path: `${all}/{access}`,
      row: ec2KeySchema,
      form,
      fields: {},
      marker: 'access',
      records: credentials,
      rules: { ...checkedByKind, list: 'get_credential', get: 'get_credential', delete: 'change_credential' },
      place,
      async list({ params }) {
        const { id } = await users.get(params.user);
        return (await credentials.list({ user_id: id })).filter(({ type }) => type === 'ec2');
      },
      async find({ params: { user, access } }) {
        const { id } = await users.get(user);
        const key = (await credentials.list({ access_hash: hashOf(access) })).find(({ user_id }) => user_id === id);
        if (!key) throw credentials.absent(access);
        return key;
      },
    }),
    route({
      method: 'POST',
      path: all,
      summary: 'Create an EC2 key of a user in a project.',
      body: z.object({ tenant_id: z.string() }),
      status: 201,
      answer: z.object({ credential: ec2KeySchema }),
      handle: async ({ params, body: { tenant_id }, request }) => {
        allow(request, 'change_credential', place({ params, request }));
        const user = await users.get(params.user);
        const project = await projects.get(tenant_id);
        if ((await rolesIn(directory, user, await scopeOfProject(directory, project))).length === 0) {
          throw projects.absent(tenant_id);
        }
        const access = randomBytes(16).toString('hex');
        const blob = secrets.seal(JSON.stringify({ access, secret: randomBytes(16).toString('hex') }));
        const access_hash = hashOf(access);
        const draft = { id: access_hash, type: 'ec2', user_id: user.id, project_id: project.id, blob, access_hash };
        return { credential: form(request, await credentials.insert(draft, takenKey)) };
      },
    }),
  ];
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
type Signed = z.output<typeof signedSchema>;
const loginSchema = z
  .object({ ec2Credentials: signedSchema.optional(), credentials: signedSchema.optional() })
  .transform(({ ec2Credentials, credentials }, context) => {
    const signed = ec2Credentials ?? credentials;
    if (signed) return signed;
    context.addIssue({ code: 'custom', message: 'The signed request is missing: {"ec2Credentials": {…}}.' });
    return z.NEVER;
  });

/** A service asks for the token of the user whose EC2 key signed a request. */
function ec2Login(options: KeystoneOptions): Route {
  const { directory, tokens, region } = options;
  const catalogs = new AddedCatalogs(directory);
  return route({
    method: 'POST',
    path: '/v3/ec2tokens',
    summary: 'Exchange a request that an EC2 key signed for a token, for services.',
    query: nocatalogQuery,
    body: loginSchema,
    answer: z.object({ token: tokenSchema }),
    handle: async ({ query, body: signed, request, reply }) => {
      if (!accessOf(request).roles.some(({ name }) => name === 'service')) allow(request, 'ec2tokens_validate');
      const key = await ec2Key(options, signed.access);
      if (!key) throw new AnnealError('NotFound', 'EC2 access key not found.');
      const access = await key.access();
      const signature = signatureOf(signed);
      if (signature?.accessKey !== signed.access || !signature.isOf(key.secret) || !access) {
        throw new AnnealError('Unauthorized', 'EC2 signature not supplied or wrong.');
      }
      const issued = { userId: access.user.id, scope: { project_id: key.projectId }, methods: ['ec2credential'] };
      const token = { ...(await tokens.issue(issued)), access };
      return answerWithToken({ request, reply, query }, { region, catalogs }, token);
    },
  });
}

function signatureOf({ verb, host, path, params, signature = '', body_hash: bodyHash, ...signed }: Signed) {
  const pairs = Object.entries(params);
  const headers = Object.fromEntries(
    Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return ec2Signature({
    method: verb,
    host,
    path,
    // Version 4 has its signature in a header.
    query: 'authorization' in headers || 'Signature' in params ? pairs : [...pairs, ['Signature', signature]],
    form: [],
    headers,
    body: new Uint8Array(),
    bodyHash,
  });
}
