import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { largeAnswer } from './large-answer.ts';

it('divides a large answer into small pieces, whose bytes together are the JSON of its value', async () => {
  const value = { rows: Array.from({ length: 20_000 }, (_, index) => ({ name: `Größe ${index}`, index })) };
  const answer = await largeAnswer(value);
  const whole = await buffer(answer.stream());
  expect(JSON.parse(whole.toString())).toEqual(value);
  expect(answer.bytes).toBe(whole.length);
  expect(answer.pieces.length).toBeGreaterThan(10);
  expect(Math.max(...answer.pieces.map((piece) => piece.length))).toBeLessThan(100_000);
});
