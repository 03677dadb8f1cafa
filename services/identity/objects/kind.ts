/** Creates, changes and deletes the objects of a kind. A kind passes what it does in its own way. */
import type { IdentityCaller } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { NamedDocument } from '@anneal/directory/documents.ts';
import { authorize, domainOfScope, type IdentityRule, type PolicyTarget } from '@anneal/directory/policy.ts';
import type { Document } from '@anneal/store/port.ts';
import { z } from 'zod';
import type { Records } from '../directory/records.ts';

type Awaitable<T> = T | Promise<T>;

/** The object that a question names, and the user who asks. */
export interface ObjectQuestion {
  readonly caller: IdentityCaller;
  readonly id: string;
  /** The user that the object belongs to, when the address names one. */
  readonly user?: string | undefined;
}

type Action = 'create' | 'update' | 'delete';

/** The fields that the client gave: none is undefined. Those that the API does not know are in `extra`. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> } & { extra: JsonObject };
export type FieldsOf<F extends z.ZodRawShape> = z.output<z.ZodObject<F>>;
/** The fields that a change has. The id and the domain of an object stay. */
export type ChangeOf<F extends z.ZodRawShape> = Given<Partial<Omit<FieldsOf<F>, 'id' | 'domain_id'>>>;

/** In the place of a row: the function of the kind checks the rights for this action, or the kind does not have it. */
const byKind = 'by the kind';
/** For a kind that checks the rights itself, for each action that it does not name beside this. */
export const decidedByKind = { create: byKind, update: byKind, delete: byKind } as const;

interface ObjectKind<T, F extends z.ZodRawShape> {
  /** The words of the kind, for messages. */
  readonly title: string;
  /** The fields of a new object. A change may leave out each. */
  readonly fields: F;
  readonly records: { get(id: string): Promise<T>; remove(id: string): Promise<void> };
  /** The row of the policy for each action. */
  readonly rules: Readonly<Record<Action, IdentityRule | typeof byKind>>;
  /** The target of the rules, when it does not depend on the object: the domain of the caller's scope, when absent. */
  readonly place?: (question: ObjectQuestion) => Awaitable<PolicyTarget>;
  /** The target of the rules for one object, which is then found first. */
  readonly target?: (object: T) => PolicyTarget;
  readonly find?: (question: ObjectQuestion, action: 'update' | 'delete') => Awaitable<T>;
  readonly create?: (given: Given<FieldsOf<F>>, question: ObjectQuestion) => Promise<unknown>;
  /** The fields that a change may repeat, but not change. */
  readonly fixed?: (object: T) => JsonObject;
  readonly change?: (given: ChangeOf<F>, object: T) => Promise<unknown>;
  readonly remove?: (object: T, question: ObjectQuestion) => Promise<void>;
}

/** The answers to the questions about one kind. `fields`: as the client sent them. */
export interface ServedKind {
  create(question: ObjectQuestion, fields: JsonObject): Promise<void>;
  change(question: ObjectQuestion, fields: JsonObject): Promise<void>;
  remove(question: ObjectQuestion): Promise<void>;
}

/** Serves a kind: checks the rights by its rules, and finds the object for a caller who has them. */
export function serveKind<T extends { readonly id: string }, F extends z.ZodRawShape>(
  kind: ObjectKind<T, F>,
): ServedKind {
  const { title, fields, records, rules, create, change, target, fixed = () => ({}) } = kind;
  const {
    place = ({ caller }: ObjectQuestion) => ({ domainId: domainOfScope(caller) }),
    find = ({ id }: ObjectQuestion) => records.get(id),
    remove = ({ id }: T) => records.remove(id),
  } = kind;
  const check = async (question: ObjectQuestion, action: Action, object?: T): Promise<void> => {
    const rule = rules[action];
    if (rule === byKind) return;
    authorize(rule, question.caller, object && target ? target(object) : await place(question));
  };
  const found = async (question: ObjectQuestion, action: 'update' | 'delete'): Promise<T> => {
    if (!target) await check(question, action);
    const object = await find(question, action);
    if (target) await check(question, action, object);
    return object;
  };
  const read = <R>(schema: z.ZodType, given: JsonObject): Given<R> =>
    givenIn<R>(fields, parseField(schema, given, `The ${title}`) as JsonObject);
  return {
    async create(question, given) {
      if (!create) throw notOffered(title, 'create');
      await check(question, 'create');
      await create(read(z.looseObject(fields), given), question);
    },
    async change(question, given) {
      if (!change) throw notOffered(title, 'change');
      const object = await found(question, 'update');
      refuseChange(fixed(object), given);
      const { id: _id, domain_id: _domain, ...rest } = read<JsonObject>(z.looseObject(fields).partial(), given);
      await change(rest as ChangeOf<F>, object);
    },
    async remove(question) {
      await remove(await found(question, 'delete'), question);
    },
  };
}

const notOffered = (title: string, action: string): AnnealError =>
  new AnnealError('NotSupported', `The identity API cannot ${action} this: ${title}.`);

/** The fields of an object, those that the client added apart. */
function givenIn<T>(fields: z.ZodRawShape, body: JsonObject): Given<T> {
  const given = Object.entries(body);
  return {
    ...Object.fromEntries(given.filter(([name]) => Object.hasOwn(fields, name))),
    extra: Object.fromEntries(
      given.filter(([name]) => !Object.hasOwn(fields, name) && name !== 'id' && name !== 'links'),
    ),
  } as Given<T>;
}

/** @throws AnnealError InvalidRequest when a change names another value for a field that never changes */
function refuseChange(present: JsonObject, given: JsonObject): void {
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
