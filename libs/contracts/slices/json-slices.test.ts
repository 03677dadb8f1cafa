import { assert, asyncProperty, jsonValue } from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { EarlierLines, isLargeJson, readJson, writeJson } from './json-slices.ts';
import { Pace } from './pace.ts';
import { validateInSlices } from './validate-slices.ts';

/** Ends its slice after each part, and counts the slices. */
class Impatient extends Pace {
  turns = 0;
  override get isOver(): boolean {
    return true;
  }
  override turn(): Promise<void> {
    this.turns += 1;
    return Promise.resolve();
  }
}

const large = (value: unknown): unknown => ({
  before: 'a "quoted"\nline',
  ['__proto__ of a template']: value,
  list: Array.from({ length: 3000 }, (_, index) => ({ index, text: `\\"\n[{,${index}`.padEnd(120), value })),
  map: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k"${index}\n`, [index, null, {}]])),
  empty: [],
  after: [[]],
});

it('writes what JSON.stringify writes, apart from line breaks, and reads it again', async () => {
  await assert(
    asyncProperty(jsonValue(), async (value) => {
      const whole = large(value);
      const text = await writeJson(whole);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(whole)));
      expect(text.replaceAll('\n', '')).toBe(JSON.stringify(whole));
      expect(JSON.stringify(await readJson(text))).toBe(JSON.stringify(whole));
    }),
    { numRuns: 10 },
  );
});

it('takes many slices to write and to read a large value, and none that is large', async () => {
  const [writes, reads] = [new Impatient(), new Impatient()];
  const text = await writeJson(large('x'), writes);
  expect(await readJson(text, { pace: reads })).toEqual(large('x'));
  expect(Math.min(writes.turns, reads.turns)).toBeGreaterThan(text.length / 50_000);
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(100_000);
});

it('shares what has not changed with the text before, and keeps as many texts as it may', async () => {
  const before = large('x') as { list: object[]; map: Record<string, unknown> };
  const text = await writeJson(before);
  const after = { ...before, list: before.list.with(1500, { index: -1, text: 'y'.padEnd(120), value: 'y' }) };
  const next = await writeJson(after);
  const earlier = new EarlierLines({ mostCharacters: 2 * text.length + 1000 });
  const read = async (given: string) => (await readJson(given, { earlier })) as typeof before;
  const [one, two] = [await read(text), await read(next)];
  expect([one, two]).toEqual([JSON.parse(text), JSON.parse(next)]);
  expect(two.list[0]).toBe(one.list[0]);
  expect(two.list[1500]).not.toEqual(one.list[1500]);
  expect(two.list.filter((item, index) => item === one.list[index]).length).toBeGreaterThan(2000);
  expect((await read(text)).list[0]).toBe(one.list[0]);
  for (const other of ['a', 'b']) await read(await writeJson(large(other)));
  expect((await read(text)).list[0]).not.toBe(one.list[0]);
});

it('does not take the members of a map for those of a list', async () => {
  const earlier = new EarlierLines({ mostCharacters: 10_000_000 });
  const [space, key] = [' '.repeat(300_000), '"a":1'];
  await readJson(`{\n${key}${space}\n}`, { earlier });
  await expect(readJson(`[\n${key}${space}\n]`, { earlier })).rejects.toThrow(SyntaxError);
});

it('writes a small value in one line, and omits what JSON omits', async () => {
  const value = { a: 1, b: undefined, c: [undefined], d: new Date(0) };
  expect(await writeJson(value)).toBe(JSON.stringify(value));
  expect(isLargeJson(value)).toBe(false);
  const list = Array.from({ length: 10_000 }, () => value);
  expect((await writeJson(list)).replaceAll('\n', '')).toBe(JSON.stringify(list));
});

it('keeps a key that names the prototype an ordinary key', async () => {
  const text = `{"__proto__":{"a":1},"list":${JSON.stringify(Array.from({ length: 50_000 }, (_, index) => index))}}`;
  const cut = await writeJson(JSON.parse(text));
  const read = (await readJson(cut)) as object;
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(JSON.stringify(read)).toBe(text);
});

it.each([
  ['indented', JSON.stringify(large(1), null, 2)],
  ['with line breaks after commas', JSON.stringify(large(1)).replaceAll(',{', ',\n{')],
])('reads a large text of another program: %s', async (_, text) => {
  expect(await readJson(text)).toEqual(JSON.parse(text));
});

it.each(['[\n1\n', '[\n1\n]\n]', '{\n1\n}', '[\n"a":1\n]', '{\n[\n]\n}'])(
  'refuses %j, like JSON.parse',
  async (start) => {
    const text = start + ' '.repeat(300_000);
    await expect(readJson(text)).rejects.toThrow(SyntaxError);
  },
);

it('validates long lists like the schema, with its defaults and its errors', async () => {
  const schema = z.object({
    name: z.string(),
    items: z.array(z.object({ a: z.number(), b: z.string().default('x') })),
  });
  const items = Array.from({ length: 1000 }, (_, a) => ({ a, more: 1 }));
  const pace = new Impatient();
  const found = await validateInSlices(schema, { name: 'n', items, other: 1 }, pace);
  expect(found).toEqual(schema.safeParse({ name: 'n', items, other: 1 }));
  expect(pace.turns).toBeGreaterThan(900);
  const wrong = { name: 'n', items: [...items, { a: 'no' }] };
  expect((await validateInSlices(schema, wrong)).error?.issues).toEqual(schema.safeParse(wrong).error?.issues);
  expect((await validateInSlices(schema, { items })).success).toBe(false);
});
