/**
 * The routes of a kind of object: list, create, show, change and delete. A kind passes what it does in its own way.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Document } from '@anneal/store/port.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, nextQueryOf, queryOf, requestPath } from '../../http/base-url.ts';
import { takePage } from '../../http/list.ts';
import { route, type ParametersOf, type Route } from '../../http/route.ts';
import type { NamedDocument } from '@anneal/directory/documents.ts';
import type { Records } from '../directory/records.ts';
import type { IdentityRule, PolicyTarget } from '@anneal/directory/policy.ts';
import { allow, listLinks, ownDomain } from './shape.ts';

/** The parameters of a query, as text. */
type Texts = Readonly<Record<string, string | undefined>>;
type Awaitable<T> = T | Promise<T>;

/** The parts of a request that a kind reads. */
export interface KindInput<Path extends string = string> {
  readonly params: ParametersOf<Path>;
  /** Without the page of a list. */
  readonly query: Texts;
  readonly request: FastifyRequest;
}

interface ListFacts<Path extends string> {
  readonly path: Path;
  /** `List the …` with the plural, when it is absent. */
  readonly summary?: string;
  readonly plural: string;
  readonly row: z.ZodType;
  /** The fields by which clients filter, as in Keystone: by equality, or as `name__contains`. */
  readonly filters?: readonly string[];
  /** Other parameters, which `rows` reads. */
  readonly parameters?: readonly string[];
  /** The field that a marker names; `id`, when it is absent. */
  readonly marker?: string;
  readonly rows: (input: KindInput<Path>) => Awaitable<readonly JsonObject[]>;
}

/** A list with filters and pages. Other parameters are ignored, and `next` is the address of the next page. */
export function listRoute<const Path extends string>(facts: ListFacts<Path>): Route {
  const { path, plural, row, filters = [], parameters = [], marker: named = 'id', rows } = facts;
  const fields = [...filters, ...parameters].map((name) => [name, z.string().optional()] as const);
  return route({
    method: 'GET',
    path,
    summary: facts.summary ?? `List the ${plural.replaceAll('_', ' ')}.`,
    query: z.looseObject({
      limit: z.int().min(0).max(999_999_999).optional(),
      marker: z.string().optional(),
      ...Object.fromEntries(fields),
    }),
    answer: z.object({ [plural]: z.array(row), links: listLinks, truncated: z.boolean().optional() }),
    handle: async ({ params, query: { limit, marker, ...query }, request }) => {
      const given = query as Texts;
      const wanted = Object.keys(given).filter((key) => filters.includes(key.split('__')[0] ?? ''));
      const page = takePage(
        await rows({ params, query: given, request }),
        { fits: (each) => wanted.every((key) => fits(each, key, given[key] ?? '')), marker, limit },
        { idOf: (each) => each[named] as string },
      );
      const self = `${baseUrl(request)}${requestPath(request)}`;
      const next = page.next === undefined ? null : `${self}${nextQueryOf(request, { marker: page.next })}`;
      return {
        [plural]: page.rows,
        links: { self: `${self}${queryOf(request)}`, previous: null, next },
        ...(next !== null && { truncated: true }),
      };
    },
  });
}

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

/** The actions on one object, as the names of rules begin. */
export type ObjectAction = 'get' | 'update' | 'delete';
type Action = 'list' | 'create' | ObjectAction;
/** The fields that the client gave: none is undefined. Those that the API does not know are in `extra`. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> } & { extra: JsonObject };
type FieldsOf<F extends z.ZodRawShape> = z.output<z.ZodObject<F>>;
/** The fields that a change has. The id and the domain of an object stay. */
export type ChangeOf<F extends z.ZodRawShape> = Given<Partial<Omit<FieldsOf<F>, 'id' | 'domain_id'>>>;

/** In the place of a row: the function of the kind checks the rights for this action, or the kind does not have it. */
const byKind = 'by the kind';
/** For a kind that checks the rights itself, for each action that it does not name beside this. */
export const checkedByKind = { list: byKind, create: byKind, get: byKind, update: byKind, delete: byKind } as const;

interface ObjectKind<Path extends string, T, F extends z.ZodRawShape> extends Omit<ListFacts<Path>, 'rows'> {
  /** The field around an object: `application_credential`. */
  readonly kind: string;
  /** `EC2 key`; the words of the kind, when it is absent. */
  readonly title?: string;
  /** The address of one object, `/v3/groups/{group}`. That of the list is the part before the last. */
  readonly path: Path;
  /** An object in the form of Keystone. */
  readonly form: (request: FastifyRequest, object: T) => Awaitable<JsonObject>;
  /** The fields of a new object. A change may leave out each. */
  readonly fields: F;
  /** The parameters of the route that shows one. */
  readonly showQuery?: z.ZodType;
  readonly records: {
    get(id: string): Promise<T>;
    list(where: Readonly<Record<string, string>>): Promise<readonly T[]>;
    remove(id: string): Promise<void>;
  };
  /** The row of the policy for each action. */
  readonly rules: Readonly<Record<Action, IdentityRule | typeof byKind>>;
  /** The target of the rules, when it does not depend on the object: the domain of the caller's scope, when absent. */
  readonly place?: (input: KindInput<Path>) => Awaitable<PolicyTarget>;
  /** The target of the rules for one object, which is then found first. */
  readonly target?: (object: T, input: KindInput<Path>) => PolicyTarget;
  /** All objects, or those in the domain of the caller's scope, when absent. */
  readonly list?: (input: KindInput<Path>) => Awaitable<readonly T[]>;
  readonly find?: (input: KindInput<Path>, action: ObjectAction) => Promise<T>;
  readonly create?: (given: Given<FieldsOf<F>>, input: KindInput<Path>) => Promise<T>;
  /** The fields that a change may repeat, but not change. */
  readonly fixed?: (object: T) => JsonObject;
  readonly change?: (given: ChangeOf<F>, object: T, input: KindInput<Path>) => Promise<T>;
  readonly remove?: (object: T, input: KindInput<Path>) => Promise<void>;
}

/** Lists, shows and deletes the objects, and creates and changes them where the kind has functions for these. */
export function kindRoutes<const Path extends string, T extends { readonly id: string }, F extends z.ZodRawShape>(
  kind: ObjectKind<Path, T, F>,
): Route[] {
  const { kind: name, path, row, form, fields, records, create, change, fixed = () => ({}) } = kind;
  const { list = ({ request }) => listOfScope(records, request), remove = ({ id }) => records.remove(id) } = kind;
  // It has every parameter of one object except the last.
  const all = path.slice(0, path.lastIndexOf('/')) as Path;
  const { title: one = name.replaceAll('_', ' ') } = kind;
  const an = /^[aeio]/i.test(one) ? 'an' : 'a';
  const answer = z.object({ [name]: row });
  const { check, found } = rightsOf(kind);
  const shown = async (request: FastifyRequest, object: T) => ({ [name]: await form(request, object) });
  const lists = listRoute({
    ...kind,
    path: all,
    rows: async (input) => {
      await check(input, 'list');
      return Promise.all((await list(input)).map(async (object) => form(input.request, object)));
    },
  });
  const creates = (make: NonNullable<typeof create>): Route =>
    route({
      method: 'POST',
      path: all,
      summary: `Create ${an} ${one}.`,
      body: wrappedBody(name, z.looseObject(fields)),
      status: 201,
      answer,
      handle: async ({ body, params, request }) => {
        const input = { params, query: {}, request };
        await check(input, 'create');
        return shown(request, await make(givenIn<FieldsOf<F>>(fields, body[name]), input));
      },
    });
  const shows = route({
    method: 'GET',
    path,
    summary: `Show ${an} ${one}.`,
    ...(kind.showQuery && { query: kind.showQuery }),
    answer,
    handle: async ({ params, query = {}, request }) =>
      shown(request, await found({ params, query: query as Texts, request }, 'get')),
  });
  const changes = (edit: NonNullable<typeof change>): Route =>
    route({
      method: 'PATCH',
      path,
      summary: `Change ${an} ${one}.`,
      body: wrappedBody(name, z.looseObject(fields).partial()),
      answer,
      handle: async ({ body, params, request }) => {
        const input = { params, query: {}, request };
        const object = await found(input, 'update');
        refuseChange(fixed(object), body[name]);
        const { id: _id, domain_id: _domain, ...given } = givenIn<JsonObject>(fields, body[name]);
        return shown(request, await edit(given as ChangeOf<F>, object, input));
      },
    });
  const removes = route({
    method: 'DELETE',
    path,
    summary: `Delete ${an} ${one}.`,
    handle: async ({ params, request }) => {
      const input = { params, query: {}, request };
      await remove(await found(input, 'delete'), input);
    },
  });
  return [lists, ...(create ? [creates(create)] : []), shows, ...(change ? [changes(change)] : []), removes];
}

/** Checks the rights by the rules of a kind, and finds the object of the path for a caller who has them. */
function rightsOf<Path extends string, T, F extends z.ZodRawShape>(kind: ObjectKind<Path, T, F>) {
  const { path, records, rules, place = domainOfScope, target } = kind;
  const parameter = path.slice(path.lastIndexOf('{') + 1, -1);
  const { find = ({ params }) => records.get((params as Texts)[parameter] ?? '') } = kind;
  const check = async (input: KindInput<Path>, action: Action, object?: T): Promise<void> => {
    const rule = rules[action];
    if (rule !== byKind) allow(input.request, rule, object && target ? target(object, input) : await place(input));
  };
  const found = async (input: KindInput<Path>, action: ObjectAction): Promise<T> => {
    if (!target) await check(input, action);
    const object = await find(input, action);
    if (target) await check(input, action, object);
    return object;
  };
  return { check, found };
}

const domainOfScope = ({ request }: { request: FastifyRequest }): PolicyTarget => ({ domainId: ownDomain(request) });

/** All objects, or those in the domain of the caller's scope. */
export function listOfScope<T>(
  records: { list(where: Readonly<Record<string, string>>): Promise<T> },
  request: FastifyRequest,
): Promise<T> {
  const domain = ownDomain(request);
  return records.list(domain === undefined ? {} : { domain_id: domain });
}

/** The rows of the policy for a kind. The kind checks the right to create one, because its target is in the body. */
export const rulesOf = <K extends 'user' | 'group' | 'role'>(kind: K) =>
  ({
    list: `list_${kind}s`,
    create: byKind,
    get: `get_${kind}`,
    update: `update_${kind}`,
    delete: `delete_${kind}`,
  }) as const;

/** The body of a request with one object, which is wrapped in its kind. */
export const wrappedBody = (kind: string, object: z.ZodType) => z.object({ [kind]: object as z.ZodType<JsonObject> });

/** The fields of an object in a body, those that the client added apart. */
export function givenIn<T>(fields: z.ZodRawShape, body: JsonObject = {}): Given<T> {
  const given = Object.entries(body);
  return {
    ...Object.fromEntries(given.filter(([name]) => Object.hasOwn(fields, name))),
    extra: Object.fromEntries(
      given.filter(([name]) => !Object.hasOwn(fields, name) && name !== 'id' && name !== 'links'),
    ),
  } as Given<T>;
}

/** @throws AnnealError InvalidRequest when the body of a change names another value for a field that never changes */
function refuseChange(present: JsonObject, given: JsonObject = {}): void {
  const names: Record<string, string> = { id: 'ID', domain_id: 'Domain ID' };
  for (const [field, value] of Object.entries(present)) {
    if (field in given && given[field] !== value) {
      throw new AnnealError('InvalidRequest', `Cannot change ${names[field] ?? field}`);
    }
  }
}

/** Stores a change. The fields that clients add come to those that are there. */
export const patch = <T extends Document & Pick<NamedDocument, 'extra'>>(
  records: Records<T>,
  { id, taken }: { readonly id: string; readonly taken?: string },
  change: Partial<T> | ((present: T) => Partial<T>),
): Promise<T> =>
  records.update(
    id,
    (present) => {
      const given = typeof change === 'function' ? change(present) : change;
      return { ...present, ...given, extra: { ...present.extra, ...given.extra } };
    },
    taken,
  );
