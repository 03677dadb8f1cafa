/**
 * Credentials: secrets that the identity API keeps for users, sealed at rest. EC2 keys are those of type `ec2`, and log
 * in by a signed request.
 */
import { randomBytes } from 'node:crypto';
import { credentialFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { accessOfUser, type UserAccess } from '@anneal/directory/access.ts';
import { keystoneId, type StoredCredentialDocument } from '@anneal/directory/documents.ts';
import { accessHash, ec2KeyIn } from '@anneal/directory/ec2-keys.ts';
import { mayUse, refuseDelegated } from '@anneal/directory/policy.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { accessOf } from '../caller.ts';
import { AddedCatalogs } from '../catalog.ts';
import { ec2Signature } from '../ec2-signature.ts';
import { issueToken } from '../new-token.ts';
import { answerWithToken, nocatalogQuery, tokenSchema } from './auth-routes.ts';
import { createObject } from './changes.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { allow, linkTo, rowSchema, selfLink, type IdentityOptions, type KeystoneOptions } from './shape.ts';

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

/** `/v3/credentials`, `/v3/users/{user}/credentials/OS-EC2`, `/v3/ec2tokens` */
export const credentialRoutes = (options: KeystoneOptions): Route[] => [
  ...generalRoutes(options),
  ...ec2Routes(options),
  ec2Login(options),
];

/** A program that acts for a user must not read the user's secrets. */
function refuseProgram(request: FastifyRequest): void {
  const { applicationCredential: credential, trust } = accessOf(request);
  refuseDelegated({ trust, credential }, 'access credentials directly');
}

type Credentials = Pick<IdentityOptions, 'directory' | 'secrets'>;

const textOf = ({ secrets }: Credentials, { blob }: StoredCredentialDocument): string => openText(secrets, blob);

/** The EC2 key of a user. `access` is what its user may do in the project of the key; undefined for nothing. */
export interface UserEc2Key {
  readonly secret: string;
  readonly projectId: string | null;
  access(): Promise<UserAccess | undefined>;
}

/** Undefined for an unknown key. */
export async function ec2Key(credentials: Credentials, accessKey: string): Promise<UserEc2Key | undefined> {
  const { directory } = credentials;
  const [key] = await directory.credentials.list({ access_hash: accessHash(accessKey) });
  if (!key || key.type !== 'ec2') return undefined;
  return {
    secret: ec2KeyIn(textOf(credentials, key)).secret,
    projectId: key.project_id,
    async access() {
      const user = await directory.users.find(key.user_id);
      return user && accessOfUser(directory, user, { project_id: key.project_id });
    },
  };
}

function generalRoutes(options: IdentityOptions): Route[] {
  const { directory, newId } = options;
  const { credentials } = directory;
  return kindRoutes(options, {
    kind: 'credential',
    plural: 'credentials',
    path: '/v3/credentials/{id}',
    row: credentialSchema,
    form(request, found) {
      const { id, type, user_id, project_id } = found;
      const links = linkTo(request, `credentials/${id}`);
      return { id, type, user_id, project_id, blob: textOf(options, found), links };
    },
    fields: credentialFields,
    filters: ['user_id', 'type'],
    records: credentials,
    rules: checkedByKind,
    list({ request }) {
      refuseProgram(request);
      const access = accessOf(request);
      return credentials.list(mayUse('list_credentials', access, {}) ? {} : { user_id: access.user.id });
    },
    /** As in Keystone, an unknown id is 403 for a user who may read only own ones. */
    async find({ params: { id }, request }) {
      refuseProgram(request);
      const credential = await credentials.find(id);
      allow(request, 'get_credential', { userId: credential?.user_id });
      if (!credential) throw credentials.absent(id);
      return credential;
    },
    async creates(fields, { request }) {
      const id = keystoneId(newId);
      await createObject(options, request, { kind: 'credential', id, fields });
      const { type, blob } = fields;
      // The service names an EC2 key by its access key, so that there is one of each.
      const isKey = type === 'ec2' && typeof blob === 'string';
      return credentials.get(isKey ? accessHash(ec2KeyIn(blob).access) : id);
    },
    changes: true,
  });
}

function ec2Routes(options: IdentityOptions): Route[] {
  const { credentials, users } = options.directory;
  const all = '/v3/users/{user}/credentials/OS-EC2';
  const form = (request: FastifyRequest, key: StoredCredentialDocument): JsonObject => {
    const { access, secret } = ec2KeyIn(textOf(options, key));
    const { user_id, project_id } = key;
    const links = linkTo(request, `users/${user_id}/credentials/OS-EC2/${access}`);
    return { user_id, tenant_id: project_id, access, secret, trust_id: null, links };
  };
  const place = ({ params, request }: { params: { readonly user: string }; request: FastifyRequest }) => {
    refuseProgram(request);
    return { userId: params.user };
  };
  return [
    ...kindRoutes(options, {
      kind: 'ec2_key',
      wrapper: 'credential',
      title: 'EC2 key',
      summary: 'List the EC2 keys of a user.',
      plural: 'credentials',
      path: `${all}/{access}`,
      row: ec2KeySchema,
      form,
      fields: {},
      marker: 'access',
      records: credentials,
      rules: { list: 'get_credential', get: 'get_credential' },
      place,
      async list({ params }) {
        const { id } = await users.get(params.user);
        return (await credentials.list({ user_id: id })).filter(({ type }) => type === 'ec2');
      },
      async find({ params: { user, access } }) {
        const { id } = await users.get(user);
        const key = (await credentials.list({ access_hash: accessHash(access) })).find(({ user_id }) => user_id === id);
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
      handle: async ({ params: { user }, body: { tenant_id }, request }) => {
        const access = randomBytes(16).toString('hex');
        const fields = { tenant_id, access, secret: randomBytes(16).toString('hex') };
        await createObject(options, request, { kind: 'ec2_key', id: access, user, fields });
        return { credential: form(request, await credentials.get(accessHash(access))) };
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
  const { directory, region } = options;
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
      const user = { user: access.user.id, project: key.projectId, methods: ['ec2credential'] };
      const token = await issueToken(options, user);
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
