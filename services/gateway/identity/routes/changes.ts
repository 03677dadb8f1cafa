/** Changes of objects of the identity API: questions to the identity service, which checks the rights of the caller. */
import {
  identityObjectChange,
  identityObjectCreate,
  identityObjectRemove,
  type IdentityCaller,
  type IdentityKindName,
} from '@anneal/contracts/calls/identity.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../../ask.ts';
import { accessOf } from '../caller.ts';

export interface ChangeOptions {
  readonly ask: Ask;
  readonly secrets: Secrets;
  readonly newId: () => string;
}

/** The user who sends a request, as the identity service needs it. @throws AnnealError Forbidden for any other caller */
export function identityCallerOf(request: FastifyRequest): IdentityCaller {
  const { user, project, domain, system, roles, applicationCredential, trust } = accessOf(request);
  return {
    user: { id: user.id, domain_id: user.domain_id },
    ...(project && { project: { id: project.id, domain_id: project.domain_id } }),
    ...(domain && { domain: { id: domain.id } }),
    system,
    roles: roles.map(({ id, name, domain_id }) => ({ id, name, domain_id })),
    ...(applicationCredential && {
      application_credential: {
        unrestricted: applicationCredential.unrestricted,
        ...(applicationCredential.access_rules && { access_rules: [...applicationCredential.access_rules] }),
      },
    }),
    ...(trust && { trust: { id: trust.id } }),
  };
}

/** The object that a change is about. */
export interface ChangedObject {
  readonly kind: IdentityKindName;
  readonly id: string;
  /** The user that the object belongs to, when the address names one. */
  readonly user?: string | undefined;
}

/** Creates an object, with these fields as the client sent them. They are sealed, because some are secrets. */
export async function createObject(
  { ask, secrets }: ChangeOptions,
  request: FastifyRequest,
  { fields, ...object }: ChangedObject & { readonly fields: JsonObject },
): Promise<void> {
  const sealed = secrets.seal(fields);
  await ask('identity', identityObjectCreate, {
    data: { caller: identityCallerOf(request), ...object, fields: sealed },
    sealed,
  });
}

/** Changes these fields of an object. */
export async function changeObject(
  { ask, secrets }: ChangeOptions,
  request: FastifyRequest,
  { fields, ...object }: ChangedObject & { readonly fields: JsonObject },
): Promise<void> {
  const sealed = secrets.seal(fields);
  await ask('identity', identityObjectChange, {
    data: { caller: identityCallerOf(request), ...object, fields: sealed },
    sealed,
  });
}

/** Deletes an object. */
export async function removeObject(
  { ask }: ChangeOptions,
  request: FastifyRequest,
  object: ChangedObject,
): Promise<void> {
  await ask('identity', identityObjectRemove, { data: { caller: identityCallerOf(request), ...object } });
}
