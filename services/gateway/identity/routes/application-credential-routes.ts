/** Application credentials: secrets by which programs log in for a user, in one project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApplicationCredentialDocument, UserDocument } from '../directory/documents.ts';
import { accessRuleSchema } from '../access-rules.ts';
import { notAuthorized } from '../identity-policy.ts';
import { ruleForm, storedRules } from './access-rule-routes.ts';
import { roleRow } from './role-routes.ts';
import { userAt } from './user-routes.ts';
import {
  accessOf,
  allow,
  describeKind,
  keystoneId,
  linkTo,
  pageOfList,
  nameField,
  paramsOf,
  readObject,
  rowSchema,
  textField,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

const fields = {
  name: nameField(255),
  description: textField.optional(),
  roles: z.array(z.object({ id: z.string().optional(), name: z.string().optional() })).optional(),
  expires_at: z.string().nullable().optional(),
  unrestricted: z.boolean().nullable().optional(),
  secret: z.string().min(16, 'must have 16 characters or more').max(4096).nullable().optional(),
  access_rules: z.array(accessRuleSchema).max(100).nullable().optional(),
};

const kind = describeKind({
  kind: 'application_credential',
  plural: 'application_credentials',
  row: rowSchema({
    name: z.string(),
    description: z.string().nullable(),
    user_id: z.string(),
    project_id: z.string(),
    expires_at: z.string().nullable(),
    unrestricted: z.boolean(),
    roles: z.array(z.looseObject({ id: z.string(), name: z.string() })),
    secret: z.string().optional().meta({ description: 'Only in the answer to the request that created it.' }),
  }).meta({ id: 'ApplicationCredential' }),
  fields,
  filters: ['name'],
});

/** `/v3/users/{user}/application_credentials` */
export const applicationCredentialRoutes: IdentityRoutes = (scope, options) => {
  const { applicationCredentials, passwords } = options.directory;
  const list = '/v3/users/:user/application_credentials';
  const one = `${list}/:credential`;

  const credentialAt = async (request: FastifyRequest, user: UserDocument) => {
    const { credential = '' } = paramsOf(request);
    const found = await applicationCredentials.find(credential);
    if (!found || found.user_id !== user.id) {
      throw new AnnealError('NotFound', `Could not find Application Credential: ${credential}.`);
    }
    return found;
  };

  scope.get(list, kind.lists, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'list_application_credentials', { userId: user.id, domainId: user.domain_id });
    const found = await applicationCredentials.list({ user_id: user.id });
    const rows = await Promise.all(found.map((each) => credentialRow(options, request, each)));
    return pageOfList(request, 'application_credentials', { rows, filters: ['name'] });
  });

  scope.post(list, kind.creates, async (request, reply) => {
    const user = await userAt(options, request);
    allow(request, 'create_application_credential', { userId: user.id });
    const { project, roles, applicationCredential: used, trust } = accessOf(request);
    refuseRestricted(used);
    if (trust) throw notAuthorized('Delegated tokens cannot manage application credentials.');
    if (!project) {
      throw new AnnealError('InvalidRequest', 'An application credential needs a token with a project as its scope.');
    }
    const { known } = readObject(request, 'application_credential', fields);
    const wanted = (known.roles ?? roles).map(({ id, name }) =>
      roles.find((role) => role.id === id || role.name === name),
    );
    if (wanted.includes(undefined)) {
      throw new AnnealError(
        'InvalidRequest',
        'Invalid application credential: Cannot create an application credential with unassigned role',
      );
    }
    // A program must not give another one more than it may do itself.
    const rules =
      used?.access_rules ??
      (known.access_rules?.length ? await storedRules(options.directory, user, known.access_rules) : undefined);
    const secret = known.secret ?? newCredential(64);
    const credential = await applicationCredentials.insert(
      {
        id: keystoneId(options.newId),
        user_id: user.id,
        name: known.name,
        description: known.description ?? null,
        project_id: project.id,
        roles: wanted.flatMap((role) => role?.id ?? []),
        secret: await passwords.hash(secret),
        expires_at: expiryOf(known.expires_at ?? null, options.now()),
        unrestricted: known.unrestricted === true,
        ...(rules && { access_rules: rules }),
      },
      `Duplicate entry found with name ${known.name}.`,
    );
    const row = await credentialRow(options, request, credential);
    return reply.code(201).send({ application_credential: { ...row, secret } });
  });

  scope.get(one, kind.shows, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'get_application_credential', { userId: user.id, domainId: user.domain_id });
    return { application_credential: await credentialRow(options, request, await credentialAt(request, user)) };
  });

  scope.delete(one, kind.removes, async (request, reply) => {
    const user = await userAt(options, request);
    allow(request, 'delete_application_credential', { userId: user.id, domainId: user.domain_id });
    refuseRestricted(accessOf(request).applicationCredential);
    await applicationCredentials.remove((await credentialAt(request, user)).id);
    return reply.code(204).send();
  });
};

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
  credential: ApplicationCredentialDocument,
): Promise<JsonObject> {
  const { id, name, description, user_id, project_id, expires_at, unrestricted } = credential;
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
  };
}
