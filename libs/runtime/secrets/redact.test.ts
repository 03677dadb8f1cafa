import { describe, expect, it } from 'vitest';
import { createRedactor, createWordRedactor, redactText } from './redact.ts';
import { createSecrets } from './secrets.ts';

const secrets = createSecrets([new Uint8Array(32).fill(3)]);

describe('a redactor', () => {
  const redact = createRedactor(secrets, {
    plain: 'visible',
    password: secrets.seal('p&ss "word"'),
    deep: [secrets.seal({ pin: 47_110_815, lines: 'first line\nsecond line', longer: 'p&ss "word" and more' })],
  });

  it('removes what the seals contain from every text, in each of its forms', () => {
    const given = {
      message: 'visible: p&ss "word" and more, p&ss "word", 47110815',
      details: [`https://h/?q=${encodeURIComponent('p&ss "word"')}`, JSON.stringify({ x: 'p&ss "word"' })],
      header: `Basic ${Buffer.from('p&ss "word"').toString('base64')}`,
      trace: '+ echo second line',
      status: 401,
    };
    expect(redact(given)).toEqual({
      message: 'visible: ******, ******, ******',
      details: ['https://h/?q=******', '{"x":"******"}'],
      header: 'Basic ******',
      trace: '+ echo ******',
      status: 401,
    });
  });

  it('leaves a text without secrets, and short secrets, as they are', () => {
    expect(redact('nothing to hide')).toBe('nothing to hide');
    expect(createRedactor(secrets, secrets.seal('abc'))('abcdef')).toBe('abcdef');
    expect(createRedactor(secrets, { a: 'not sealed' })('not sealed')).toBe('not sealed');
    expect(redactText('user root, password calvin', ['calvin', ''])).toBe('user root, password ******');
  });
});

it('a redactor of words removes each word of a sealed script from what a shell says of it', () => {
  const script = '#!/bin/sh\nmysql --password=hunter2 http://u:p@ss1@db/x\nswordfish --now\n';
  const redact = createWordRedactor(secrets, { config: secrets.seal(script), other: 'visible' });
  expect(redact('sh: 3: swordfish: not found')).toBe('sh: 3: ******: not found');
  expect(redact("access denied for 'hunter2' (--password=hunter2)")).toBe("access denied for '******' (******)");
  expect(redact('visible, now')).toBe('visible, now');
  expect(createWordRedactor(secrets, { config: script })('swordfish')).toBe('swordfish');
});
