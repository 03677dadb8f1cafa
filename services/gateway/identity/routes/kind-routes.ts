/**
 * The routes of a kind of object: list, create, show, change and delete. A kind passes what it does in its own way. It
 * reads the directory, and asks the identity service for each change.
 */
import type { IdentityKindName } from '@anneal/contracts/calls/identity.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { IdentityRule, PolicyTarget } from '@anneal/directory/policy.ts';
import { keystoneId } from '@anneal/directory/documents.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, nextQueryOf, queryOf, requestPath } from '../../http/base-url.ts';
import { takePage } from '../../http/list.ts';
import { route, type ParametersOf, type Route } from '../../http/route.ts';
import { changeObject, createObject, removeObject, type ChangedObject, type ChangeOptions } from './changes.ts';
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

/** In the place of a row: the function of the kind checks the rights for this action. */
const byKind = 'by the kind';
/** For a kind that checks the rights to read itself, for each action that it does not name beside this. */
export const checkedByKind = { list: byKind, get: byKind } as const;

interface ObjectKind<Path extends string, T> extends Omit<ListFacts<Path>, 'rows'> {
  /** The name of the kind in questions, and the field around an object: `application_credential`. */
  readonly kind: IdentityKindName;
  /** The field around an object, when its name differs from that of the kind. */
  readonly wrapper?: string;
  /** `EC2 key`; the words of the kind, when it is absent. */
  readonly title?: string;
  /** The address of one object, `/v3/groups/{group}`. That of the list is the part before the last. */
  readonly path: Path;
  /** An object in the form of Keystone. */
  readonly form: (request: FastifyRequest, object: T) => Awaitable<JsonObject>;
  /** The fields of a new object. A change may leave out each. */
  readonly fields: z.ZodRawShape;
  /** The parameters of the route that shows one. */
  readonly showQuery?: z.ZodType;
  readonly records: {
    get(id: string): Promise<T>;
    list(where: Readonly<Record<string, string>>): Promise<readonly T[]>;
  };
  /** The row of the policy for each action that reads. */
  readonly rules: Readonly<Record<'list' | 'get', IdentityRule | typeof byKind>>;
  /** The target of the rules, when it does not depend on the object: the domain of the caller's scope, when absent. */
  readonly place?: (input: KindInput<Path>) => Awaitable<PolicyTarget>;
  /** The target of the rules for one object, which is then found first. */
  readonly target?: (object: T, input: KindInput<Path>) => PolicyTarget;
  /** All objects, or those in the domain of the caller's scope, when absent. */
  readonly list?: (input: KindInput<Path>) => Awaitable<readonly T[]>;
  /** Finds the object to show. */
  readonly find?: (input: KindInput<Path>) => Promise<T>;
  /** The object after its change: from the records, when absent. */
  readonly changed?: (id: string) => Promise<T>;
  /** Creates an object: in the usual way, or by this function. Absent for a kind that this route does not create. */
  readonly creates?: true | ((fields: JsonObject, input: KindInput<Path>) => Promise<T>);
  /** Whether clients change fields. */
  readonly changes?: true;
}

/** Lists, shows and deletes the objects, and creates and changes them where the kind offers it. */
export function kindRoutes<const Path extends string, T>(options: ChangeOptions, kind: ObjectKind<Path, T>): Route[] {
  const { kind: asked, path, row, form, fields, records, creates, changes } = kind;
  const { list = ({ request }) => listOfScope(records, request), changed = (id) => records.get(id) } = kind;
  const name = kind.wrapper ?? asked;
  // It has every parameter of one object except the last.
  const all = path.slice(0, path.lastIndexOf('/')) as Path;
  const { title: one = asked.replaceAll('_', ' ') } = kind;
  const an = /^[aeio]/i.test(one) ? 'an' : 'a';
  const answer = z.object({ [name]: row });
  const { check, found } = rightsOf(kind);
  const objectIn = placeIn(kind);
  const shown = async (request: FastifyRequest, object: T) => ({ [name]: await form(request, object) });
  const lists = listRoute({
    ...kind,
    path: all,
    rows: async (input) => {
      await check(input, 'list');
      return Promise.all((await list(input)).map(async (object) => form(input.request, object)));
    },
  });
  const creation = (make: NonNullable<typeof creates>): Route =>
    route({
      method: 'POST',
      path: all,
      summary: `Create ${an} ${one}.`,
      body: wrappedBody(name, z.looseObject(fields)),
      status: 201,
      answer,
      handle: async ({ body: { [name]: given = {} }, params, request }) => {
        if (make !== true) return shown(request, await make(given, { params, query: {}, request }));
        const object = { ...objectIn(params), id: keystoneId(options.newId) };
        await createObject(options, request, { ...object, fields: given });
        return shown(request, await changed(object.id));
      },
    });
  const shows = route({
    method: 'GET',
    path,
    summary: `Show ${an} ${one}.`,
    ...(kind.showQuery && { query: kind.showQuery }),
    answer,
    handle: async ({ params, query = {}, request }) =>
      shown(request, await found({ params, query: query as Texts, request })),
  });
  const change = route({
    method: 'PATCH',
    path,
    summary: `Change ${an} ${one}.`,
    body: wrappedBody(name, z.looseObject(fields).partial()),
    answer,
    handle: async ({ body: { [name]: given = {} }, params, request }) => {
      const object = objectIn(params);
      await changeObject(options, request, { ...object, fields: given });
      return shown(request, await changed(object.id));
    },
  });
  const removes = route({
    method: 'DELETE',
    path,
    summary: `Delete ${an} ${one}.`,
    handle: ({ params, request }) => removeObject(options, request, objectIn(params)),
  });
  return [lists, ...(creates ? [creation(creates)] : []), shows, ...(changes ? [change] : []), removes];
}

const parameterOf = (path: string): string => path.slice(path.lastIndexOf('{') + 1, -1);

/** The object of a path, as questions name it. */
function placeIn<Path extends string, T>({ kind, path }: ObjectKind<Path, T>) {
  const parameter = parameterOf(path);
  return (params: ParametersOf<Path>): ChangedObject => {
    const given = params as Texts;
    const id = given[parameter] ?? '';
    return { kind, id, ...(parameter !== 'user' && given['user'] !== undefined && { user: given['user'] }) };
  };
}

/** Checks the rights by the rules of a kind, and finds the object of the path for a caller who has them. */
function rightsOf<Path extends string, T>(kind: ObjectKind<Path, T>) {
  const { path, records, rules, place = placeOfScope, target } = kind;
  const parameter = parameterOf(path);
  const { find = ({ params }) => records.get((params as Texts)[parameter] ?? '') } = kind;
  const check = async (input: KindInput<Path>, action: 'list' | 'get', object?: T): Promise<void> => {
    const rule = rules[action];
    if (rule !== byKind) allow(input.request, rule, object && target ? target(object, input) : await place(input));
  };
  const found = async (input: KindInput<Path>): Promise<T> => {
    if (!target) await check(input, 'get');
    const object = await find(input);
    if (target) await check(input, 'get', object);
    return object;
  };
  return { check, found };
}

const placeOfScope = ({ request }: { request: FastifyRequest }): PolicyTarget => ({ domainId: ownDomain(request) });

/** All objects, or those in the domain of the caller's scope. */
export function listOfScope<T>(
  records: { list(where: Readonly<Record<string, string>>): Promise<T> },
  request: FastifyRequest,
): Promise<T> {
  const domain = ownDomain(request);
  return records.list(domain === undefined ? {} : { domain_id: domain });
}

/** The body of a request with one object, which is wrapped in its kind. */
export const wrappedBody = (kind: string, object: z.ZodType) => z.object({ [kind]: object as z.ZodType<JsonObject> });
