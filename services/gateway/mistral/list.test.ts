import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parameterReader, refuseAll, type QueryValues } from '../http/input.ts';
import { mistralList, mistralPage } from './list.ts';

const row = z.object({ id: z.string(), name: z.string(), state: z.string() });
const rows = [
  { id: '1', name: 'c', state: 'ERROR' },
  { id: '2', name: 'a', state: 'SUCCESS' },
  { id: '3', name: 'b', state: 'ERROR' },
];
const read = parameterReader(mistralList('rows', row).query, { place: 'query', refuse: refuseAll });
const page = (query: QueryValues) => mistralPage(rows, read(query));
const ids = (query: QueryValues) => page(query).map(({ id }) => id);

describe('a list of the API of Mistral', () => {
  it('is filtered, sorted, and continued behind a row, also one that the filter leaves out', () => {
    expect(ids({ state: 'neq:SUCCESS', sort_keys: 'name', sort_dirs: 'desc' })).toEqual(['1', '3']);
    expect(ids({ sort_keys: 'name', limit: '1', marker: '2' })).toEqual(['3']);
    expect(ids({ state: 'ERROR', marker: '2' })).toEqual(['3']);
    expect(ids({ name: 'in:a,b', state: 'has:ERR' })).toEqual(['3']);
    expect(ids({ name: 'nin:a,b' })).toEqual(['1']);
    expect(page({ fields: 'name' })[0]).toEqual({ id: '1', name: 'c' });
  });

  it('refuses a marker whose object was deleted, instead of beginning again', () => {
    expect(() => ids({ marker: '9' })).toThrow(expect.objectContaining({ code: 'NotFound' }));
  });

  it('takes the last value of a parameter that is sent twice', () => {
    expect(ids({ limit: ['1', '2'] })).toEqual(['1', '2']);
    expect(ids({ state: ['SUCCESS', 'ERROR'] })).toEqual(['1', '3']);
  });
});
