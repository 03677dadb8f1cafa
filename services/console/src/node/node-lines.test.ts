import { expect, it } from 'vitest';
import { readNodeLines } from './node-lines.ts';

it('reads nodes with and without a heading, a user and a class', () => {
  const text = 'name,address,user,password,class\na,https://10.0.0.1\n\n"b",http://b.bmc:8000,admin,se"cret,large\n';
  expect(readNodeLines(text)).toEqual({
    nodes: [
      { name: 'a', address: 'https://10.0.0.1' },
      { name: 'b', address: 'http://b.bmc:8000', username: 'admin', password: 'se"cret', resourceClass: 'large' },
    ],
    mistakes: [],
  });
});

it('names every mistake with its line', () => {
  const { mistakes } = readNodeLines('a b,https://x\nc,ftp://x\nd,https://x,1,2,3,4\nd,https://y');
  expect(mistakes).toEqual([
    'Line 1: a name contains letters, digits, "_", "-" and ".".',
    'Line 2: the address is not an http or https URL.',
    'Line 3: there are more than five values.',
    'Line 4: the name d is there twice.',
  ]);
});
