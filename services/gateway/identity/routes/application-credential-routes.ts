/** Application credentials: secrets by which programs log in for a user, in one project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import type { UserAccess } from '@anneal/directory/access.ts';
import { accessRuleSchema } from '../access-rules.ts';
import type { ApplicationCredentialDocument } from '@anneal/directory/documents.ts';
import { notAuthorized } from '@anneal/directory/policy.ts';
import { placeOfUser, ruleForm, storedRules } from './access-rule-routes.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { roleRow } from './role-routes.ts';
import { accessOf, keystoneId, linkTo, nameField, rowSchema, textField, type IdentityOptions } from './shape.ts';

const fields = {
  name: nameField(255),
  description: textField.optional(),
  roles: z.array(z.object({ id: z.string().optional(), name: z.string().optional() })).optional(),
  expires_at: z.string().nullable().optional(),
  unrestricted: z.boolean().nullable().optional(),
  secret: z.string().min(16, 'must have 16 characters or more').max(4096).nullable().optional(),
  access_rules: z.array(accessRuleSchema).max(100).nullable().optional(),
};

const credentialSchema = rowSchema({
  name: z.string(),
  description: z.string().nullable(),
  user_id: z.string(),
  project_id: z.string(),
  expires_at: z.string().nullable(),
  unrestricted: z.boolean(),
  roles: z.array(z.looseObject({ id: z.string(), name: z.string() })),
  secret: z.string().optional().meta({ description: 'Only in the answer to the request that created it.' }),
}).meta({ id: 'ApplicationCredential' });

/** A credential, with its secret in clear text when it was just created. */
type Shown = ApplicationCredentialDocument & { readonly clear?: string };
const path = '/v3/users/{user}/application_credentials/{credential}';

/** `/v3/users/{user}/application_credentials` */
export const applicationCredentialRoutes = (options: IdentityOptions): Route[] => {
  const { directory } = options;
  const { applicationCredentials } = directory;
  return kindRoutes<typeof path, Shown, typeof fields>({
    kind: 'application_credential',
    plural: 'application_credentials',
    path,
    row: credentialSchema,
    form: (request, credential) => credentialRow(options, request, credential),
    fields,
    filters: ['name'],
    records: applicationCredentials,
    rules: {
      ...checkedByKind,
      list: 'list_application_credentials',
      create: 'create_application_credential',
      get: 'get_application_credential',
      delete: 'delete_application_credential',
    },
    place: placeOfUser(directory),
    list: ({ params }) => applicationCredentials.list({ user_id: params.user }),
    async find({ params: { user, credential } }) {
      const found = await applicationCredentials.find(credential);
      if (found?.user_id === user) return found;
      throw new AnnealError('NotFound', `Could not find Application Credential: ${credential}.`);
    },
    create: (given, { params, request }) =>
      createCredential(options, accessOf(request), { ...given, user: params.user }),
    async remove({ id }, { request }) {
      refuseRestricted(accessOf(request).applicationCredential);
      await applicationCredentials.remove(id);
    },
  });
};

async function createCredential(
  { directory, newId, now }: IdentityOptions,
  { project, roles: held, applicationCredential: used, trust }: UserAccess,
  { user, ...wanted }: z.output<z.ZodObject<typeof fields>> & { user: string },
): Promise<Shown> {
  refuseRestricted(used);
  if (trust) throw notAuthorized('Delegated tokens cannot manage application credentials.');
  if (!project) {
    throw new AnnealError('InvalidRequest', 'An application credential needs a token with a project as its scope.');
  }
  const roles = (wanted.roles ?? held).map(({ id, name }) => {
    const role = held.find((each) => each.id === id || each.name === name);
    if (role) return role.id;
    throw new AnnealError(
      'InvalidRequest',
      'Invalid application credential: Cannot create an application credential with unassigned role',
    );
  });
  // A program must not give another one more than it may do itself.
  const rules =
    used?.access_rules ??
    (wanted.access_rules?.length ? await storedRules(directory, user, wanted.access_rules) : undefined);
  const clear = wanted.secret ?? newCredential(64);
  const credential = await directory.applicationCredentials.insert(
    {
      id: keystoneId(newId),
      user_id: user,
      name: wanted.name,
      description: wanted.description ?? null,
      project_id: project.id,
      roles,
      secret: await directory.passwords.hash(clear),
      expires_at: expiryOf(wanted.expires_at ?? null, now()),
      unrestricted: wanted.unrestricted === true,
      ...(rules && { access_rules: rules }),
    },
    `Duplicate entry found with name ${wanted.name}.`,
  );
  return { ...credential, clear };
}

/** A program that got a credential must not be able to make others. */
function refuseRestricted(used: ApplicationCredentialDocument | undefined): void {
  if (!used || used.unrestricted) return;
  throw notAuthorized(
    "Using method 'application_credential' is not allowed for managing additional application credentials.",
  );
}

/** Keystone's form has no zone; the time is UTC. */
export function expiryOf(text: string | null, now: Date): string | null {
  if (text === null) return null;
  const time = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  if (Number.isNaN(time.getTime())) throw new AnnealError('InvalidRequest', 'Timestamp not in expected format.');
  if (time <= now) throw new AnnealError('InvalidRequest', "The 'expires_at' must not be before now.");
  // Keystone keeps microseconds.
  const [, micros = ''] = /\.\d{3}(\d{1,3})/.exec(text) ?? [];
  return time.toISOString().replace('Z', `${micros.padEnd(3, '0')}Z`);
}

async function credentialRow(
  { directory }: IdentityOptions,
  request: FastifyRequest,
  credential: Shown,
): Promise<JsonObject> {
  const { id, name, description, user_id, project_id, expires_at, unrestricted, clear } = credential;
  const roles = (await directory.roles.findMany(credential.roles)).map((role) => {
    const { links: _, ...row } = roleRow(request, role);
    return row;
  });
  return {
    id,
    name,
    description,
    user_id,
    project_id,
    system: null,
    // Those of earlier versions have milliseconds.
    expires_at: expires_at && expires_at.replace('Z', '').padEnd(26, '0'),
    unrestricted,
    roles,
    ...(credential.access_rules && { access_rules: credential.access_rules.map(ruleForm) }),
    links: linkTo(request, `application_credentials/${id}`),
    ...(clear !== undefined && { secret: clear }),
  };
}
