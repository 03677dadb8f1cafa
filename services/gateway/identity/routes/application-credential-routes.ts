/** Application credentials: secrets by which programs log in for a user, in one project. */
import { applicationCredentialFields } from '@anneal/contracts/calls/identity-fields.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { absentCredential } from '@anneal/directory/absent.ts';
import { keystoneId, type ApplicationCredentialDocument } from '@anneal/directory/documents.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import { placeOfUser, ruleForm } from './access-rule-routes.ts';
import { createObject } from './changes.ts';
import { kindRoutes } from './kind-routes.ts';
import { roleRow } from './role-routes.ts';
import { linkTo, rowSchema, type IdentityOptions } from './shape.ts';

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
  const { directory, newId } = options;
  const { applicationCredentials } = directory;
  return kindRoutes<typeof path, Shown>(options, {
    kind: 'application_credential',
    plural: 'application_credentials',
    path,
    row: credentialSchema,
    form: (request, credential) => credentialRow(options, request, credential),
    fields: applicationCredentialFields,
    filters: ['name'],
    records: applicationCredentials,
    rules: { list: 'list_application_credentials', get: 'get_application_credential' },
    place: placeOfUser(directory),
    list: ({ params }) => applicationCredentials.list({ user_id: params.user }),
    async find({ params: { user, credential } }) {
      const found = await applicationCredentials.find(credential);
      if (found?.user_id === user) return found;
      throw absentCredential(credential);
    },
    async creates(given, { params: { user }, request }) {
      const id = keystoneId(newId);
      const clear = typeof given['secret'] === 'string' ? given['secret'] : newCredential(64);
      const fields = { ...given, secret: clear };
      await createObject(options, request, { kind: 'application_credential', id, user, fields });
      return { ...(await applicationCredentials.get(id)), clear };
    },
  });
};

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
