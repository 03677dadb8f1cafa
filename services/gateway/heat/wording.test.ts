import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { toProblem } from '../http/problem.ts';
import { heatWording } from './wording.ts';

it('an exceeded quota is 403 with Heat’s message and type, without Retry-After', () => {
  const text = 'You have reached the maximum stacks per tenant, 3. Please delete some stacks.';
  const request = { id: 'r', headers: {}, routeOptions: {} } as FastifyRequest;
  const problem = toProblem(new AnnealError('QuotaExceeded', text), request);
  expect([problem.status, problem.headers]).toEqual([403, {}]);
  expect(heatWording.body(problem, request)).toMatchObject({
    code: 403,
    title: 'Forbidden',
    error: { type: 'RequestLimitExceeded', message: text, code: 'QuotaExceeded' },
  });
});
