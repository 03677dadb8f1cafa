import { expect, it } from 'vitest';
import { joinRows } from './join-rows.ts';

const rows = (ids: string) => ids.split('').map((id) => ({ id }));
const joined = (newest: string, held: string): string =>
  joinRows(rows(newest), rows(held))
    .map(({ id }) => id)
    .join('');

it('keeps held rows that the newest ones do not reach any more', () => {
  expect(joined('hgf', 'gfedc')).toBe('hgfedc');
  expect(joined('hgf', 'hgfedc')).toBe('hgfedc');
});

it('takes the newest rows alone when they contain all that is held', () => {
  expect(joined('cba', '')).toBe('cba');
  expect(joined('edcba', 'ed')).toBe('edcba');
});

it('leaves out rows behind a gap', () => {
  expect(joined('zyx', 'cba')).toBe('zyx');
});
