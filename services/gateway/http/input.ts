/**
 * Reads the input of a route with the schemas that describe it (`route.ts`, R1). Pure.
 *
 * I1 A parameter is text. It becomes the number or the boolean that its schema asks for, and stays text when it is none,
 *    so that the schema refuses it.
 * I2 Of a parameter that is sent twice the last value counts, because clients that follow a redirect repeat some. A schema
 *    of a list gets all values.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import type { AnnealError, Mistake } from '@anneal/contracts/errors.ts';
import { fieldMistakes, innermost, invalidFields, issueText } from '@anneal/contracts/field-mistakes.ts';
import { z } from 'zod';

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
export const refuseAll: Refuse = (mistakes, place) => invalidFields(mistakes, placeTexts[place]);

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
    throw refuse(
      fieldMistakes(schema, parsed.error, (issue) => {
        const sent = given[String(issue.path[0])];
        return sent === undefined ? issueText(issue) : parameterText(issue, sent);
      }),
      place,
    );
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

const numberIn = (text: unknown): unknown =>
  typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;

function booleanIn(text: unknown): unknown {
  const lower = String(text).toLowerCase();
  return lower === 'true' || (lower === 'false' ? false : text);
}

/** A function that reads the body. An absent one is an empty object where the schema needs one, so that the mistakes name its fields. */
export function bodyReader<T>(schema: z.ZodType<T>, refuse: Refuse): (given: unknown) => T {
  return (given) => {
    let parsed = safeParseExact(schema, given);
    if (!parsed.success && given === undefined) parsed = schema.safeParse({});
    if (parsed.success) return parsed.data;
    throw refuse(fieldMistakes(schema, parsed.error), 'body');
  };
}
