import { expect, it } from 'vitest';
import { mistakesIn, wantedOf, wishOptions } from './wish.ts';

const wish = {
  stack: 'web, shop/db',
  filters: ' {"exact": {"subject": "a b"}} ',
  batchSize: '10',
  confirm: 'yes',
  secret: 'whsec_very-secret',
  deadLetter: '  ',
};

it('makes the call of what is filled in', () => {
  expect(wantedOf(wish)).toEqual({
    stack: ['web', 'shop/db'],
    filters: [{ exact: { subject: 'a b' } }],
    batchSize: 10,
    confirm: true,
    secret: 'whsec_very-secret',
  });
});

it('shows the options of the command without secrets', () => {
  expect(wishOptions(wish)).toEqual([
    '--stack web',
    '--stack shop/db',
    `--filter '{"exact": {"subject": "a b"}}'`,
    '--batch-size 10',
    '--confirm',
    '--secret whsec_…',
  ]);
});

it('names what cannot be sent', () => {
  expect(mistakesIn({ ...wish, batchSize: '0', filters: '[1]' })).toEqual([
    'The filter must be one JSON object.',
    'Events in one request must be a whole number greater than zero.',
  ]);
  expect(mistakesIn(wish)).toEqual([]);
});
