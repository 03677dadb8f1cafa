import { expect, it } from 'vitest';
import { plainText } from './plain-text.ts';

it('leaves the words of a terminal, without colours, titles and movements', () => {
  expect(plainText('\u001b[1;32m[  OK  ]\u001b[0m Started \u001b]0;title\u0007ssh\r')).toBe('[  OK  ] Started ssh');
  expect(plainText('\u001b[2J\u001b[HGRUB\tmenu\u0000')).toBe('GRUB\tmenu');
});
