import { expect, it } from 'vitest';
import { findWords, wordsLeft } from './words.ts';

it('the text of the project avoids the words of the list in CONTRIBUTING, except in counted old places', () => {
  const allowed = wordsLeft();
  const more = [...findWords()].filter(([file, places]) => places.length > (allowed[file] ?? 0));
  expect(Object.fromEntries(more)).toEqual({});
});
