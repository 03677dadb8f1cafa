/** Validates large answers in slices: their long lists item by item. */
import { z } from 'zod';
import { isObject } from '../json.ts';
import { Pace } from './pace.ts';

/** Shorter lists are validated at once. */
const longList = 200;

/** Like `safeParse`. The value must not change meanwhile. */
export async function validateInSlices<T>(
  schema: z.ZodType<T>,
  value: unknown,
  pace: Pace = new Pace(),
): Promise<z.ZodSafeParseResult<T>> {
  const long = longListsOf(schema, value);
  if (long.length === 0 || !isObject(value)) return schema.safeParse(value);
  const short = schema.safeParse({ ...value, ...Object.fromEntries(long.map(({ name }) => [name, []])) });
  // An error names the place in the whole value.
  if (!short.success) return schema.safeParse(value);
  const data: Record<string, unknown> = short.data as Record<string, unknown>;
  for (const { name, item, list } of long) {
    const items: unknown[] = [];
    for (const each of list) {
      const parsed = item.safeParse(each);
      if (!parsed.success) return schema.safeParse(value);
      items.push(parsed.data);
      if (pace.isOver) await pace.turn();
    }
    data[name] = items;
  }
  return short;
}

function longListsOf(schema: z.ZodType, value: unknown): { name: string; item: z.ZodType; list: unknown[] }[] {
  if (!(schema instanceof z.ZodObject) || !isObject(value)) return [];
  const found = [];
  for (const [name, member] of Object.entries(schema.shape)) {
    const list: unknown = value[name];
    // A list with bounds of its own is validated as a whole.
    if (!Array.isArray(list) || list.length <= longList || !(member instanceof z.ZodArray) || member.def.checks?.length)
      continue;
    found.push({ name, item: member.element as z.ZodType, list });
  }
  return found;
}
