import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { multipartMime } from '@anneal/python/text/mime.ts';
import { fillIn } from './structured.ts';

describe('a structured config', () => {
  const inputs = new Map<string, Json>([
    ['a', 1],
    ['m', { x: [2] }],
  ]);

  it('has its inputs filled in at any depth', () => {
    const config = {
      one: { get_input: 'a' },
      list: [{ deep: { get_input: 'm' } }],
      kept: { get_input: 'a', other: 1 },
    };
    expect(fillIn(config, { inputs, key: 'get_input', strict: false })).toEqual({
      one: 1,
      list: [{ deep: { x: [2] } }],
      kept: { get_input: 'a', other: 1 },
    });
  });

  it('has null for a missing input, or is refused when strict', () => {
    const config = { x: { in: 'nope' } };
    expect(fillIn(config, { inputs, key: 'in', strict: false })).toEqual({ x: null });
    expect(() => fillIn(config, { inputs, key: 'in', strict: true })).toThrow('The Parameter (nope) was not provided.');
  });
});

describe('a multipart message', () => {
  const script = { content: '#!/bin/sh\necho hi\n', filename: 'a.sh', subtype: 'x-shellscript', unpack: false };
  const umlaut = { content: 'ü', filename: null, subtype: null, unpack: false };

  it('has a part for each config, in its charset', () => {
    const text = multipartMime([script, umlaut]);
    expect(text).toContain('Content-Type: text/x-shellscript; charset="us-ascii"');
    expect(text).toContain('Content-Disposition: attachment; filename="a.sh"\n\n#!/bin/sh\necho hi\n');
    expect(text).toContain('Content-Type: text/plain; charset="utf-8"');
    expect(text).toContain(Buffer.from('ü').toString('base64'));
    expect(multipartMime([script, umlaut])).toBe(text);
  });

  it('includes the parts of another message', () => {
    const inner = multipartMime([script, umlaut]);
    const outer = multipartMime([{ content: inner, filename: null, subtype: null, unpack: true }]);
    expect(outer).toBe(inner);
  });

  it('has one empty part when it has none, alone and in another message, as in Heat', () => {
    const around = (text: string): string => text.replaceAll(/={15}\w+==/g, 'B');
    const head = 'Content-Type: multipart/mixed; boundary="B"\nMIME-Version: 1.0\n\n';
    const none = multipartMime([]);
    expect(around(none)).toBe(`${head}--B\n\n--B--\n`);
    const plain =
      'Content-Type: text/plain; charset="us-ascii"\nMIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\n';
    const outer = multipartMime([{ content: none, filename: null, subtype: null, unpack: true }]);
    expect(around(outer)).toBe(`${head}--B\n${plain}\n--B--\n`);
    const outermost = multipartMime([{ content: outer, filename: null, subtype: null, unpack: true }, umlaut]);
    expect(around(outermost)).toContain(`${head}--B\n${plain}\n--B\nContent-Type: text/plain; charset="utf-8"\n`);
  });

  it('cannot break its headers by a name', () => {
    expect(multipartMime([{ ...script, filename: 'x"\nEvil: 1' }])).not.toMatch(/^Evil/m);
    expect(multipartMime([{ ...script, filename: 'a "b"' }])).toContain(String.raw`filename="a \"b\""`);
  });
});
