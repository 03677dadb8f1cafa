/** The parts that the objects of the identity API share: the caller's rights, links, fields, and those of the client. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainName, plainName } from '@anneal/contracts/plain-name.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl } from '../../http/base-url.ts';
import type { UserAccess } from '@anneal/directory/access.ts';
import { callerOf } from '../caller.ts';
import type { Directory } from '../directory/directory.ts';
import type { NamedDocument } from '@anneal/directory/documents.ts';
import { authorize, type IdentityRule, type PolicyTarget } from '@anneal/directory/policy.ts';
import type { OidcOptions } from '../oidc/provider.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import type { TokenReader } from '@anneal/directory/tokens.ts';
import type { TokenWriter } from '../tokens.ts';

/** The parts that the routes of the identity API use. */
export interface IdentityOptions {
  readonly directory: Directory;
  readonly newId: () => string;
  readonly now: () => Date;
  /** 0 for a project without stacks. A project with stacks cannot be deleted. */
  readonly stacksIn: (project: string) => Promise<number>;
}

/** The same for the routes that issue tokens. */
export interface KeystoneOptions extends IdentityOptions {
  readonly ask: Ask;
  readonly secrets: Secrets;
  /** Lifetime of a token, in milliseconds. */
  readonly lifetimeMs: number;
  readonly tokens: TokenReader & TokenWriter;
  readonly region: string;
  /** Undefined without an OpenID provider. */
  readonly oidc?: OidcOptions | undefined;
}

/** The address of an object or list below `/identity/v3/`. */
export const linkTo = (request: FastifyRequest, path: string): { self: string } => ({
  self: `${baseUrl(request)}/identity/v3/${path}`,
});

/** A new id in Keystone's form. */
export const keystoneId = (newId: () => string): string => newId().replaceAll('-', '');

/** The caller's access. @throws AnnealError Forbidden for a host, a signaller or a machine credential */
export function accessOf(request: FastifyRequest): UserAccess {
  const caller = callerOf(request);
  if (caller.kind === 'user') return caller.access;
  throw new AnnealError('Forbidden', 'Only users may use the identity API.');
}

/** @throws AnnealError Forbidden */
export const allow = (request: FastifyRequest, rule: IdentityRule, target: PolicyTarget = {}): void =>
  authorize(rule, accessOf(request), target);

/** The domain that a caller with a domain as scope is limited to. */
export function ownDomain(request: FastifyRequest): string | undefined {
  const { project, domain } = accessOf(request);
  return project ? undefined : domain?.id;
}

/** The domain of a new object whose body names none: that of the caller's scope. */
export function callerDomain(request: FastifyRequest): string {
  const { project, domain } = accessOf(request);
  return project?.domain_id ?? domain?.id ?? defaultDomain.id;
}

/** @throws AnnealError InvalidRequest for the id of a domain that does not exist, in the body of a new object */
export async function checkDomain({ domains }: Directory, id: string): Promise<void> {
  if (!(await domains.find(id))) throw new AnnealError('InvalidRequest', `Could not find domain: ${id}.`);
}

/** The reason of a conflict: the name is taken in its domain. */
export const takenInDomain = ({ name, domain_id }: { name: string; domain_id: string }): string =>
  `Duplicate entry found with name ${name} at domain ID ${domain_id}.`;

/** A name of at most so many characters. */
export const nameField = (most: number) =>
  z
    .string()
    .trim()
    .min(1, `must have 1 to ${most} characters`)
    .max(most, `must have at most ${most} characters`)
    .refine(isPlainName, plainName);

/** A text or null. */
export const textField = z.string().max(65_535).nullable();
/** Tags of a project or a domain. */
export const tagsField = z
  .array(
    z
      .string()
      .min(1)
      .max(255)
      .regex(/^[^/,]*$/, 'must not contain / or ,'),
  )
  .max(80);

/** The link of an object. */
export const selfLink = z.object({ self: z.string() });
/** The links of a list. */
export const listLinks = z.object({ self: z.string(), previous: z.string().nullable(), next: z.string().nullable() });
/** An object, which also has the fields that clients added. */
export const rowSchema = <S extends z.ZodRawShape>(shape: S) =>
  z.looseObject({ id: z.string(), ...shape, links: selfLink });
/** The fields of a document in the answer. */
export const objectForm = (
  request: FastifyRequest,
  plural: string,
  { extra, ...rest }: JsonObject & Pick<NamedDocument, 'id' | 'extra'>,
): JsonObject => ({ ...extra, ...rest, links: linkTo(request, `${plural}/${rest.id}`) });
