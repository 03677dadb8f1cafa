import { describe, expect, it } from 'vitest';
import { derivedId, derivedIdAt } from './derived-id.ts';

describe('a derived id', () => {
  it('is the one that earlier versions stored', () => {
    expect(derivedId('run:r1:2')).toBe('5e6526d2-c74c-81fe-a6ac-e323a7338a62');
    expect(derivedId('post:q1:0', 'a')).toBe('a7975fa1-ee39-8e09-a501-2dc380b2dda8');
  });

  it('is a UUID of version 8, and another one for another text', () => {
    const form = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const ids = Array.from({ length: 200 }, (_, number) => derivedId(`input\n${number}`));
    for (const id of ids) expect(id).toMatch(form);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('sorts by a given time, and differs for another text at that time', () => {
    const times = [0, 1, 255, 256, Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 1];
    const ids = times.map((at) => derivedIdAt('run:r1:2', at));
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(derivedIdAt('run:r1:3', 256)).not.toBe(ids[3]);
    expect(derivedIdAt('run:r1:2', 256)).toBe(ids[3]);
  });
});
