import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from './json.ts';
import { mergePatch, mergePatchBetween } from './merge-patch.ts';

describe('a merge patch', () => {
  // From appendix A of RFC 7396.
  it.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('of %j with %j gives %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('does not reach the prototype', () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject;
    const result = mergePatch({}, patch);
    expect(Object.hasOwn(result as object, '__proto__')).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it.each<[JsonObject, JsonObject, JsonObject | undefined]>([
    [{ a: 1 }, { a: 1 }, undefined],
    [{ a: 1, b: { c: 2, d: [1] } }, { a: 1, b: { c: 3, d: [1] } }, { b: { c: 3 } }],
    [{ a: 1 }, {}, { a: null }],
    [{}, { a: { b: 1 } }, { a: { b: 1 } }],
    [{ a: [1, 2] }, { a: [1] }, { a: [1] }],
  ])('between %j and %j is %j', (before, after, patch) => {
    expect(mergePatchBetween(before, after)).toEqual(patch);
    if (patch) expect(mergePatch(before, patch)).toEqual(after);
  });
});
