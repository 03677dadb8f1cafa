/** The parts that the objects of the identity API share: the caller's rights, links, fields, and those of the client. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { NamedDocument } from '@anneal/directory/documents.ts';
import { authorize, domainOfScope, type IdentityRule, type PolicyTarget } from '@anneal/directory/policy.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import type { TokenReader } from '@anneal/directory/tokens.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { accessOf } from '../caller.ts';
import type { ChangeOptions } from './changes.ts';

/** The parts that the routes of the identity API use. */
export interface IdentityOptions extends ChangeOptions {
  readonly directory: DirectoryReader;
  readonly now: () => Date;
}

/** The same for the routes that issue tokens. */
export interface KeystoneOptions extends IdentityOptions {
  /** Lifetime of a token, in milliseconds. */
  readonly lifetimeMs: number;
  readonly tokens: TokenReader;
  readonly region: string;
  readonly log: Pick<ServiceContext['log'], 'warn'>;
}

/** The address of an object or list below `/identity/v3/`. */
export const linkTo = (request: FastifyRequest, path: string): { self: string } => ({
  self: `${baseUrl(request)}/identity/v3/${path}`,
});

/** @throws AnnealError Forbidden */
export const allow = (request: FastifyRequest, rule: IdentityRule, target: PolicyTarget = {}): void =>
  authorize(rule, accessOf(request), target);

/** The domain that a caller with a domain as scope is limited to. */
export const ownDomain = (request: FastifyRequest): string | undefined => domainOfScope(accessOf(request));

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
