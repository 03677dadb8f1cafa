/** The forms that every object of the identity API shares: wrapping, links, filters, pages, and fields of the client. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainName, plainName } from '@anneal/contracts/plain-name.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl, nextQueryOf, queryOf } from '../../http/base-url.ts';
import { queryValue } from '../../http/body.ts';
import { parseField, type QueryValues } from '../../http/input.ts';
import type { UserAccess } from '../access.ts';
import { callerOf } from '../caller.ts';
import type { Directory } from '../directory/directory.ts';
import type { NamedDocument } from '../directory/documents.ts';
import type { OidcOptions } from '../oidc/provider.ts';
import type { Tokens } from '../tokens.ts';
import { described } from '../../http/document.ts';
import { authorize, type IdentityRule, type PolicyTarget } from '../identity-policy.ts';

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
  readonly tokens: Tokens;
  readonly region: string;
  /** Undefined without an OpenID provider. */
  readonly oidc?: OidcOptions | undefined;
}

/** Adds routes to the identity API. */
export type IdentityRoutes = (scope: FastifyInstance, options: IdentityOptions) => void;

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

/** @throws AnnealError InvalidRequest for the id of a domain that does not exist, in the body of a new object */
export async function checkDomain({ domains }: Directory, id: string): Promise<void> {
  if (!(await domains.find(id))) throw new AnnealError('InvalidRequest', `Could not find domain: ${id}.`);
}

/** The reason of a conflict: the name is taken in its domain. */
export const takenInDomain = ({ name, domain_id }: { name: string; domain_id: string }): string =>
  `Duplicate entry found with name ${name} at domain ID ${domain_id}.`;

/** The path parameters. */
export const paramsOf = (request: FastifyRequest): Record<string, string> => request.params as Record<string, string>;

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
/** The schema of a list, and of its query. */
export const listDescription = (plural: string, row: z.ZodType, filters: readonly string[]) => ({
  query: z.object({
    limit: z.int().min(0).max(999_999_999).optional(),
    marker: z.string().optional(),
    ...Object.fromEntries(filters.map((name) => [name, z.string().optional()])),
  }),
  answer: z.object({ [plural]: z.array(row), links: listLinks, truncated: z.boolean().optional() }),
});

interface KindSchemas {
  /** `application_credential` */
  readonly kind: string;
  readonly plural: string;
  readonly row: z.ZodType;
  /** The fields of a new one. */
  readonly fields: z.ZodRawShape;
  /** The fields of a change; those of a new one, when it is absent. */
  readonly changes?: z.ZodRawShape;
  readonly filters: readonly string[];
}

/** The descriptions of the routes of one kind of object. */
export function describeKind({ kind, plural, row, fields, changes = fields, filters }: KindSchemas) {
  const one = kind.replaceAll('_', ' ');
  const article = /^[aeio]/.test(one) ? 'an' : 'a';
  const answer = z.object({ [kind]: row });
  const bodyOf = (shape: z.ZodRawShape) => z.object({ [kind]: z.looseObject(shape) });
  return {
    lists: described({
      summary: `List the ${plural.replaceAll('_', ' ')}.`,
      ...listDescription(plural, row, filters),
    }),
    creates: described({ summary: `Create ${article} ${one}.`, body: bodyOf(fields), status: 201, answer }),
    shows: described({ summary: `Show ${article} ${one}.`, answer }),
    updates: described({ summary: `Change ${article} ${one}.`, body: bodyOf(changes), answer }),
    removes: described({ summary: `Delete ${article} ${one}.` }),
  };
}

/** The fields that the client gave: none is undefined. */
type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Reads the object in the body, which is wrapped in its kind. Unknown fields are kept in `extra`. */
export function readObject<S extends z.ZodRawShape>(
  request: FastifyRequest,
  kind: string,
  shape: S,
): { known: Given<z.infer<z.ZodObject<S>>>; extra: JsonObject } {
  const schema = z.object({ [kind]: z.looseObject(shape) });
  const body = parseField(schema, request.body ?? {}, `The ${kind}`)[kind] as JsonObject;
  const names = new Set([...Object.keys(shape), 'id', 'links']);
  const fields = Object.entries(body);
  return {
    known: Object.fromEntries(fields.filter(([name]) => name in shape)) as Given<z.infer<z.ZodObject<S>>>,
    extra: Object.fromEntries(fields.filter(([name]) => !names.has(name))),
  };
}

/** @throws AnnealError InvalidRequest when the body of a change names another value for a field that never changes */
export function refuseChange(request: FastifyRequest, kind: string, present: Readonly<Record<string, unknown>>): void {
  const given = (request.body as Record<string, JsonObject> | undefined)?.[kind] ?? {};
  const names: Record<string, string> = { id: 'ID', domain_id: 'Domain ID' };
  for (const [field, value] of Object.entries(present)) {
    if (field in given && given[field] !== value) {
      throw new AnnealError('InvalidRequest', `Cannot change ${names[field] ?? field}`);
    }
  }
}

/** The fields of a document in the answer. */
export const objectForm = (
  request: FastifyRequest,
  plural: string,
  { extra, ...rest }: JsonObject & Pick<NamedDocument, 'id' | 'extra'>,
): JsonObject => ({ ...extra, ...rest, links: linkTo(request, `${plural}/${rest.id}`) });

const operators: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  contains: (value, wanted) => value.includes(wanted),
  startswith: (value, wanted) => value.startsWith(wanted),
  endswith: (value, wanted) => value.endsWith(wanted),
};

function fits(row: JsonObject, key: string, wanted: string): boolean {
  const [field = '', operator] = key.split('__');
  if (!(field in row)) return true;
  const value = row[field];
  if (typeof value === 'boolean') return value === !['false', '0', 'no'].includes(wanted.toLowerCase());
  if (typeof value !== 'string') return false;
  if (operator === undefined) return value === wanted;
  const plain = operators[operator];
  if (plain) return plain(value, wanted);
  const insensitive = operator.startsWith('i') ? operators[operator.slice(1)] : undefined;
  return insensitive ? insensitive(value.toLowerCase(), wanted.toLowerCase()) : true;
}

/**
 * A list with the filters and the page of the query. As in Keystone, `filters` by equality or `__contains` and so on
 * apply to these fields, other keys are ignored, and `next` is the address of the next page.
 * @throws AnnealError NotFound for an unknown marker; InvalidRequest for a wrong limit
 */
export function pageOfList(
  request: FastifyRequest,
  plural: string,
  { rows, filters }: { rows: readonly JsonObject[]; filters: readonly string[] },
): JsonObject {
  const query = request.query as QueryValues;
  const wanted = Object.keys(query).filter((key) => filters.includes(key.split('__')[0] ?? ''));
  const fitting = rows.filter((row) => wanted.every((key) => fits(row, key, queryValue(request, key) ?? '')));
  const marker = queryValue(request, 'marker');
  const after = marker === undefined ? -1 : fitting.findIndex(({ id }) => id === marker);
  if (marker !== undefined && after < 0) throw new AnnealError('NotFound', `Marker ${marker} could not be found.`);
  const limit = queryValue(request, 'limit');
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    throw new AnnealError('InvalidRequest', `The query parameter limit must be a whole number, not "${limit}".`);
  }
  const rest = fitting.slice(after + 1);
  const page = limit === undefined ? rest : rest.slice(0, Number(limit));
  const truncated = page.length < rest.length;
  const last = page.at(-1)?.['id'];
  return {
    [plural]: [...page],
    links: {
      self: `${linkTo(request, plural).self}${queryOf(request)}`,
      previous: null,
      next:
        truncated && typeof last === 'string'
          ? `${linkTo(request, plural).self}${nextQueryOf(request, { marker: last })}`
          : null,
    },
    ...(truncated && { truncated: true }),
  };
}
