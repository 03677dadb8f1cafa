/**
 * Reads the input of a route with the schemas that describe it (`route.ts`, R1). Pure.
 *
 * I1 A parameter is text. It becomes the number or the boolean that its schema asks for, and stays text when it is none,
 *    so that the schema refuses it.
 * I2 Of a parameter that is sent twice the last value counts, because clients that follow a redirect repeat some. A schema
 *    of a list gets all values.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { issueText } from '@anneal/contracts/issue-text.ts';

/** The query of a request, as the server splits it. */
export type QueryValues = Readonly<Record<string, string | string[] | undefined>>;

/** The part of a request that has a schema. */
type InputPlace = 'query' | 'headers' | 'body';

/** The error for a request that has these mistakes, at least one: in the words of an API. */
export type Refuse = (mistakes: readonly Mistake[], place: InputPlace) => AnnealError;

const placeTexts: Readonly<Record<InputPlace, string>> = {
  query: 'The query',
  headers: 'A header',
  body: 'The request body',
};

/** Names every mistake. */
export const refuseAll: Refuse = (mistakes, place) => refusal(mistakes, placeTexts[place]);

/** @throws AnnealError InvalidRequest that lists every invalid field, and each unknown field of a strict object. */
export function parseField<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refusal(mistakesOf(schema, parsed.error), what);
}

function refusal(mistakes: readonly Mistake[], what: string): AnnealError {
  const listed = mistakes.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new AnnealError('InvalidRequest', `${what} is not valid: ${listed}`, { mistakes });
}

function mistakesOf(schema: z.ZodType, { issues }: z.ZodError, given?: QueryValues): Mistake[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => mistakeAt([...issue.path, key], unknownText(schema, issue.path)));
    }
    const sent = given?.[String(issue.path[0])];
    return [mistakeAt(issue.path, sent === undefined ? issueText(issue) : parameterText(issue, sent))];
  });
}

const mistakeAt = (path: readonly PropertyKey[], message: string): Mistake => ({
  code: 'InvalidField',
  path: path.join('.'),
  message,
});

const kinds: Readonly<Record<string, string>> = {
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
};

/** The text of an issue of a parameter, with what was sent. A text that the schema has of its own stays as it is. */
function parameterText(issue: z.core.$ZodIssue, sent: string | string[]): string {
  const shown = JSON.stringify(Array.isArray(sent) ? sent.at(-1) : sent);
  if (issue.code === 'invalid_type') {
    const text = kinds[issue.expected];
    return text === undefined || !issue.message.startsWith('Invalid input')
      ? issueText(issue)
      : `${text}, not ${shown}`;
  }
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid option')) {
    return `must be one of ${issue.values.map(String).join(', ')}, not ${shown}`;
  }
  if (issue.code === 'too_small' && issue.message.startsWith('Too small') && issue.origin !== 'string') {
    return `must be at least ${issue.minimum}, not ${shown}`;
  }
  if (issue.code === 'too_big' && issue.message.startsWith('Too big') && issue.origin !== 'string') {
    return `must be at most ${issue.maximum}, not ${shown}`;
  }
  return issueText(issue);
}

/** Names the known fields when the unknown one is at the top. */
function unknownText(schema: z.ZodType, path: readonly PropertyKey[]): string {
  const known = path.length === 0 ? knownIn(schema) : undefined;
  if (known === undefined) return 'unknown field';
  return known === '' ? 'unknown field; none is accepted here' : `unknown field; known are ${known}`;
}

/** The names of the fields of an object. Undefined for a union whose objects differ in them. */
function knownIn(schema: z.ZodType): string | undefined {
  const inner = innermost(schema);
  if (inner instanceof z.ZodObject) return Object.keys(inner.shape).join(', ');
  if (!(inner instanceof z.ZodDiscriminatedUnion)) return undefined;
  const [names, ...others] = new Set(inner.options.map((option) => knownIn(option as z.ZodType)));
  return others.length === 0 ? names : undefined;
}

/** The values of a parameter that a client sends once or several times. Programs may also give one text. */
export const oneOrMore = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

/** A function that reads a query or headers. It throws what `refuse` makes of the mistakes. */
export function parameterReader<T>(
  schema: z.ZodType<T>,
  { place, refuse }: { place: 'query' | 'headers'; refuse: Refuse },
): (given: QueryValues) => T {
  const fields = innermost(schema);
  const shape: Readonly<Record<string, z.ZodType>> = fields instanceof z.ZodObject ? fields.shape : {};
  const readers = new Map(Object.entries(shape).map(([name, field]) => [name, readerOf(field)]));
  // Headers that a route does not know are not its own.
  const isOwn = (name: string): boolean => place === 'query' || readers.has(name);
  return (given) => {
    const typed = Object.entries(given).flatMap(([name, value]) =>
      value === undefined || !isOwn(name) ? [] : [[name, (readers.get(name) ?? lastOf)(value)] as const],
    );
    const parsed = schema.safeParse(Object.fromEntries(typed));
    if (parsed.success) return parsed.data;
    throw refuse(mistakesOf(schema, parsed.error, given), place);
  };
}

type ReadValue = (value: string | string[]) => unknown;

const lastOf: ReadValue = (value) => (Array.isArray(value) ? value.at(-1) : value);

/** How the text of a parameter with this schema becomes a value (I1, I2). */
function readerOf(field: z.ZodType): ReadValue {
  const inner = innermost(field);
  if (inner instanceof z.ZodArray) {
    const one = readerOf(inner.element as z.ZodType);
    return (value) => [value].flat().map((each) => one(each));
  }
  // As `oneOrMore`: all values.
  if (
    inner instanceof z.ZodUnion &&
    inner.options.some((option) => innermost(option as z.ZodType) instanceof z.ZodArray)
  )
    return (value) => value;
  if (inner instanceof z.ZodNumber) return (value) => numberIn(lastOf(value));
  if (inner instanceof z.ZodBoolean) return (value) => booleanIn(lastOf(value));
  return lastOf;
}

/** The schema below what makes it optional, gives it a default or changes its result. */
function innermost(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodPipe)
    return innermost((field.in instanceof z.ZodTransform ? field.out : field.in) as z.ZodType);
  if (
    field instanceof z.ZodOptional ||
    field instanceof z.ZodNullable ||
    field instanceof z.ZodDefault ||
    field instanceof z.ZodPrefault ||
    field instanceof z.ZodReadonly
  )
    return innermost(field.unwrap() as z.ZodType);
  return field;
}

const numberIn = (text: unknown): unknown =>
  typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;

function booleanIn(text: unknown): unknown {
  const lower = String(text).toLowerCase();
  return lower === 'true' || (lower === 'false' ? false : text);
}

/** A function that reads the body. An absent one is an empty object where the schema needs one, so that the mistakes name its fields. */
export function bodyReader<T>(schema: z.ZodType<T>, refuse: Refuse): (given: unknown) => T {
  return (given) => {
    let parsed = schema.safeParse(given);
    if (!parsed.success && given === undefined) parsed = schema.safeParse({});
    if (parsed.success) return parsed.data;
    throw refuse(mistakesOf(schema, parsed.error), 'body');
  };
}
