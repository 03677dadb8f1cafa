import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { nextQueryOf } from './base-url.ts';

const requestOf = (url: string) => ({ url }) as FastifyRequest;

it('the query of the next page keeps repeated parameters, the limit and encoded values, and replaces the marker', () => {
  const request = requestOf('/v2/images?sort_key=name&sort_key=size&name=a%26b&marker=old&limit=2');
  const next = nextQueryOf(request, { marker: 'a b' });
  expect(next).toBe('?sort_key=name&sort_key=size&name=a%26b&marker=a+b&limit=2');
  expect(nextQueryOf(requestOf('/v2/images'), { marker: 'x' })).toBe('?marker=x');
});
