import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { parameterReader, refuseAll } from '../http/input.ts';
import { chosenOf, listQuery, pageOf, type ListItem } from './collection.ts';

const items: ListItem[] = ['b', 'c', 'a'].map((name, at) => ({
  uuid: `u${at}`,
  name,
  size: at,
  extra: { at },
  links: [],
}));
const request = (query: Record<string, string> = {}): FastifyRequest =>
  ({
    url: `/baremetal/v1/things?${new URLSearchParams(query).toString()}`,
    headers: { host: 'h' },
    protocol: 'http',
    host: 'h',
  }) as unknown as FastifyRequest;
const read = parameterReader(listQuery, { place: 'query', refuse: refuseAll });
const form = { key: 'things', row: ['uuid', 'name'] };
const page = (query: Record<string, string> = {}) =>
  pageOf({ request: request(query), query: read(query) }, items, form) as { things: ListItem[]; next?: string };
const names = (query?: Record<string, string>) => page(query).things.map(({ name }) => name);

describe('a list', () => {
  it('has the fields of a row, all with detail, or the chosen ones, and always the links', () => {
    expect(page().things[0]).toEqual({ uuid: 'u0', name: 'b', links: [] });
    expect(page({ detail: 'true' }).things[0]).toEqual(items[0]);
    expect(page({ fields: 'size' }).things[0]).toEqual({ size: 0, links: [] });
    expect(() => page({ fields: 'size,nope' })).toThrow('Field nope is not a valid field');
    expect(() => page({ fields: 'size', detail: 'true' })).toThrow('leave out');
    for (const name of ['constructor', 'toString']) expect(() => page({ fields: name })).toThrow('not a valid field');
    const [item = { uuid: '' }] = items;
    expect(chosenOf(item, undefined)).toBe(item);
  });

  it('is sorted by a simple field, in both directions', () => {
    expect(names({ sort_key: 'name' })).toEqual(['a', 'b', 'c']);
    expect(names({ sort_key: 'size', sort_dir: 'desc' })).toEqual(['a', 'c', 'b']);
    expect(names({ sort_dir: 'desc' })).toEqual(['a', 'c', 'b']);
    for (const sort_key of ['extra', 'nope', 'constructor'])
      expect(() => names({ sort_key })).toThrow('invalid field for sorting');
    expect(() => names({ sort_dir: 'up' })).toThrow('asc, desc');
  });

  it('comes a page at a time, and names the next one', () => {
    const first = page({ limit: '2', sort_key: 'name' });
    expect(first.things.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(first.next).toBe('http://h/baremetal/v1/things?limit=2&sort_key=name&marker=u0');
    expect(page({ limit: '2', sort_key: 'name', marker: 'u0' })).toEqual({
      things: [expect.objectContaining({ name: 'c' })],
    });
    expect(page({ limit: '3' }).next).toContain('marker=u2');
    for (const limit of ['0', '1000', '1000000']) expect(page({ limit })).not.toHaveProperty('next');
    expect(() => page({ limit: '1000001' })).toThrow('limit: must be at most 1000000');
    expect(() => page({ marker: 'gone' })).toThrow('The marker gone is not in the list');
  });
});
