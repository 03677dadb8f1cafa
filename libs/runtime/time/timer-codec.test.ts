import { expect, it } from 'vitest';
import { z } from 'zod';
import { createTimerCodec } from './timer-codec.ts';

const schema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('node'), node: z.string() }),
  z.object({ kind: z.literal('sweep') }),
]);
const codec = createTimerCodec<z.infer<typeof schema>>({
  schema,
  idOf: (timer) => (timer.kind === 'node' ? `node:${timer.node}` : timer.kind),
  earlier: ({ id, data }) => (id === 'sweep' ? { kind: 'sweep' } : { kind: 'node', ...(data as object) }),
});

it('stores a timer with its kind, under the same id each time it is set, and reads it back', () => {
  const stored = codec.at({ kind: 'node', node: 'n' }, 5);
  expect(stored).toEqual({ id: 'node:n', dueAt: 5, data: { kind: 'node', node: 'n' } });
  expect(codec.at({ kind: 'node', node: 'n' }, 7).id).toBe(codec.idOf({ kind: 'node', node: 'n' }));
  expect(codec.read(stored)).toEqual({ kind: 'node', node: 'n' });
});

it('reads data without a kind, as release 0.1.0 stored it', () => {
  expect(codec.read({ id: 'sweep', dueAt: 0, data: null })).toEqual({ kind: 'sweep' });
  expect(codec.read({ id: 'node:n', dueAt: 0, data: { node: 'n' } })).toEqual({ kind: 'node', node: 'n' });
});

it.each([
  ['an unknown kind', { kind: 'newer' }, 'kind: '],
  ['a known kind without its object', { kind: 'node' }, 'node: '],
  ['neither kind nor object', 7, 'node: '],
])('refuses a timer with %s, and names it', (_, data, mistake) => {
  const read = () => codec.read({ id: 'x:1', dueAt: 0, data });
  expect(read).toThrow(/^Cannot fire timer x:1: .*It waits for a replica that knows its form\.$/);
  expect(read).toThrow(mistake);
});
