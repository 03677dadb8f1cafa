import { globSync, readFileSync } from 'node:fs';
import type { Json } from '@anneal/contracts/json.ts';
import { array, assert, constantFrom, dictionary, letrec, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { formatText } from './format.ts';
import { Mistakes } from '../mistakes.ts';
import { type YamlNode, toExact } from '@anneal/python/yaml/node.ts';
import { parse } from '../syntax/parse.ts';

const sample = `heat_template_version: 2013-05-23   # the first
parameters:
    mode: {type: string,   default: 0644}
    time: { type: string, default: "12:30:45" }
    truth: {type: boolean, default: yes}
`;

/** The meaning of a text without its positions; undefined when the text is empty. */
function meaning(text: string): string | undefined {
  const node = parse({ text, file: undefined, mistakes: new Mistakes() });
  const plain = (part: YamlNode): unknown => {
    if (part.kind === 'list') return part.items.map(plain);
    if (part.kind === 'map') return [...part.entries].map(([name, { key, value }]) => [name, key, plain(value)]);
    const value = toExact(part);
    return [typeof part.value, part.written, value];
  };
  return node && JSON.stringify(plain(node));
}

/** Words to which YAML 1.1 gives another meaning, and ways to write a scalar that formatting could lose. */
const words = `yes no on 0644 08 0o7 12:30:45 190:20:30 1e3 1.5e+3 1. -0 0x1F 0b11 1_000 ~ null 2013-05-23 .inf <<x é 😀 a#b 'it''s' "q\\n\\u00e9" "12:30:45" '0644' [a,b] {a:1} [] {} "" ''`;
const blocks = [
  '|\n    a: b\n      deeper\n    back',
  '>-\n    folded\n    text\n\n    more',
  '|+\n    kept\n\n',
  `"${'long '.repeat(40)}"`,
];
const indented = (text: string): string => `\n${text.replaceAll(/^/gm, '    ').trimEnd()}`;
const { document } = letrec<{ document: string; value: string }>((tie) => ({
  value: oneof({ maxDepth: 3 }, constantFrom(...words.split(' '), ...blocks), tie('document').map(indented)),
  document: oneof(
    array(tie('value'), { minLength: 1, maxLength: 4 }).map((items) =>
      items.map((item) => `- ${item.trimStart()}\n`).join(''),
    ),
    dictionary(constantFrom('key', 'on', "'q k'", '0644', '12:30', '~'), tie('value'), { minKeys: 1, maxKeys: 4 }).map(
      (map) =>
        Object.entries(map)
          .map(([key, value]) => `# about ${key}\n${key}: ${value}  \n`)
          .join(''),
    ),
  ),
}));

describe('template format', () => {
  it('keeps the data and all comments of a random document, and changes nothing the second time', () => {
    assert(
      property(document, (text) => {
        const said = meaning(text);
        if (said === undefined) return;
        const formatted = formatText(text);
        expect(meaning(formatted)).toBe(said);
        expect(formatted.match(/# about/g)?.length).toBe(text.match(/# about/g)?.length);
        expect(formatText(formatted)).toBe(formatted);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the data for every way of writing it', () => {
    const { data } = letrec<{ data: Json }>((tie) => ({
      data: oneof(
        { maxDepth: 4 },
        string(),
        constantFrom(1, 1.5, true, null),
        array(tie('data')),
        dictionary(string(), tie('data')),
      ),
    }));
    assert(
      property(
        data,
        constantFrom('BLOCK_LITERAL', 'BLOCK_FOLDED', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'PLAIN'),
        (value, style) => {
          const text = stringify({ value }, { defaultStringType: style, version: '1.1' });
          const said = meaning(text);
          if (said !== undefined) expect(meaning(formatText(text))).toBe(said);
        },
      ),
    );
  });

  it('keeps the data of all templates of the project', () => {
    const root = new URL('../../../', import.meta.url);
    const files = globSync(['{libs,test,docs,deploy}/**/*.yaml'], { cwd: root, exclude: ['**/node_modules/**'] });
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const content = readFileSync(new URL(file, root), 'utf8');
      if (!content.includes('heat_template_version')) continue;
      expect(meaning(formatText(content)), file).toBe(meaning(content));
    }
  });

  it('keeps comments, quotes and the spelling of words', () => {
    const formatted = formatText(sample);
    expect(formatted).toContain('# the first');
    expect(formatted).toContain('default: 0644');
    expect(formatted).toContain('default: "12:30:45"');
    expect(formatted).toContain('default: yes');
  });

  it('does not change a formatted template', () => {
    expect(formatText(formatText(sample))).toBe(formatText(sample));
  });

  it('refuses what is not YAML', () => {
    expect(() => formatText('a: [')).toThrow('not YAML');
  });
});
