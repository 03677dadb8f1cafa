import { describe, expect, it } from 'vitest';
import { hidesItsKind, namesInterpreter, scriptFault } from './script-text.ts';

describe('the fault of a script', () => {
  it.each([
    ['#!/bin/sh\r\nset -e\r\n', 'line 1 ends with CRLF'],
    ['#!/bin/sh\necho a\necho b\r\n', 'line 3 ends with CRLF'],
    ['#!/bin/sh\r\necho a\n', 'line 1 ends with CRLF'],
    ['#!/bin/sh\recho a\r', 'line 1 ends with a carriage return (CR) alone'],
    ['#!/bin/sh\r', 'line 1 ends with a carriage return (CR) alone'],
    ['\uFEFF#!/bin/sh\necho a\n', 'byte order mark (BOM)'],
    ["#!/bin/sh\nprintf 'a\rb'\necho c\r\n", 'line 3 ends with CRLF'],
  ])('of %j is that %s', (text, fault) => {
    expect(scriptFault(text)).toContain(fault);
  });

  it('names all faults at once, and what to do', () => {
    expect(scriptFault('\uFEFF#!/bin/sh\r\n')).toMatch(
      /BOM.*, and line 1 ends with CRLF.*Save the script without a byte order mark and with LF/,
    );
  });

  it.each(['', '#!/bin/sh\nset -e\n', "#!/bin/sh\nprintf 'a\rb'\n", String.raw`printf "a\r\n"`])(
    'does not exist in %j',
    (text) => {
      expect(scriptFault(text)).toBeUndefined();
    },
  );
});

it('tells which texts name their kind in the first line', () => {
  expect(['#!/bin/sh', '\uFEFF#!/bin/sh', 'x', ' #!'].map(namesInterpreter)).toEqual([true, true, false, false]);
  expect(['\uFEFF#cloud-config', '#cloud-config', '\uFEFFx'].map(hidesItsKind)).toEqual([true, false, false]);
});
