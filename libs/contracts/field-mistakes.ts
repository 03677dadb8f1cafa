/** The mistakes in the fields of a value, in words for the client: zod speaks of types of JavaScript. Pure. */
import { z } from 'zod';
import { AnnealError, type Mistake } from './errors.ts';

/** The text of an issue without the path of its field. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return `is required: expected ${issue.expected}`;
  }
  return issue.message;
}

/** @throws AnnealError InvalidRequest that lists every invalid field, and each unknown field of a strict object. */
export function parseField<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidFields(fieldMistakes(schema, parsed.error), what);
}

/** The error for a value with these mistakes, at least one. `what`: the value, at the beginning of the sentence. */
export function invalidFields(mistakes: readonly Mistake[], what: string): AnnealError {
  const listed = mistakes.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new AnnealError('InvalidRequest', `${what} is not valid: ${listed}`, { mistakes });
}

/** Names every mistake, also each unknown field of a strict object. */
export function fieldMistakes(schema: z.ZodType, { issues }: z.ZodError, textOf = issueText): Mistake[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => mistakeAt([...issue.path, key], unknownText(schema, issue.path)));
    }
    return [mistakeAt(issue.path, textOf(issue))];
  });
}

const mistakeAt = (path: readonly PropertyKey[], message: string): Mistake => ({
  code: 'InvalidField',
  path: path.join('.'),
  message,
});

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

/** The schema below what makes it optional, gives it a default or changes its result. */
export function innermost(field: z.ZodType): z.ZodType {
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
