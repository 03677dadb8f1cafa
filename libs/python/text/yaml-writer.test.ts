import { expect, it } from 'vitest';
import { pythonYaml } from './yaml-writer.ts';

it('the writer uses the quotes, escapes and line breaks of PyYAML', () => {
  const document = {
    users: ['default', { name: 'b', sudo: 'ALL=(ALL) NOPASSWD:ALL' }],
    runcmd: [['sh', '-c', 'echo "a: b" > /x'], 'ls'],
    none: [null, true, 7, 1.5, 1e-7, [], {}],
    quoted: ['a: b', '123', 'yes', '=', '~', '2020-01-01', '0755', '1_000', '- x', "it's", ' lead', 'a #b', ''],
    script: '#!/bin/sh\nls\n',
    tab: 'a\tb\n c',
    uni: 'é日😀',
    long: 'word word word word word word word word word word word word word word word word word word ',
    plain: 'word word word word word word word word word word word word word word word word word end',
    far: 'é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b é b ',
    '': 'empty',
    'a\nb': { x: ['y'] },
  };
  expect(pythonYaml(document)).toBe(String.raw`? ''
: empty
? 'a

  b'
: x:
  - y
far: "\xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b\
  \ \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9 b \xE9\
  \ b \xE9 b "
long: 'word word word word word word word word word word word word word word word
  word word word '
none:
- null
- true
- 7
- 1.5
- 1.0e-07
- []
- {}
plain: word word word word word word word word word word word word word word word
  word word end
quoted:
- 'a: b'
- '123'
- 'yes'
- '='
- '~'
- '2020-01-01'
- '0755'
- '1_000'
- '- x'
- it's
- ' lead'
- 'a #b'
- ''
runcmd:
- - sh
  - -c
  - 'echo "a: b" > /x'
- ls
script: '#!/bin/sh

  ls

  '
tab: "a\tb\n c"
uni: "\xE9\u65E5\U0001F600"
users:
- default
- name: b
  sudo: ALL=(ALL) NOPASSWD:ALL
`);
});

it('the writer quotes texts that YAML 1.1 would read as another type', () => {
  const texts = [
    'on',
    'Null',
    '.inf',
    '12:30:45',
    '0x1f',
    '0b11',
    '1.',
    '.5',
    '1e3',
    '2001-12-14 21:59:43',
    '<<',
    '---',
    '%x',
  ];
  const plain = new Set(['1e3']);
  expect(pythonYaml(texts)).toBe(texts.map((text) => (plain.has(text) ? `- ${text}\n` : `- '${text}'\n`)).join(''));
  expect(pythonYaml({ on: 'x', '1': [[]] })).toBe("'1':\n- []\n'on': x\n");
});

it('the writer handles empty and single values', () => {
  expect([{}, [], null, '', 'a', 5].map((value) => pythonYaml(value))).toEqual([
    '{}\n',
    '[]\n',
    'null\n',
    "''\n",
    'a\n',
    '5\n',
  ]);
});
