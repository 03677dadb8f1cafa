import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { bodyReader } from '../http/input.ts';
import { toProblem } from '../http/problem.ts';
import { heatWording, refuseInHeat } from './wording.ts';

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

it('a parameter that a property reads and the template does not declare is a mistake of the property, as in Heat', () => {
  const mistake = {
    code: 'UnknownParameter',
    message: 'The Parameter (size) was not provided. (in resources.two.properties.value.get_param)',
    path: 'resources.two.properties.value.get_param',
  };
  const messageOf = (first: typeof mistake, message: string): unknown => {
    const request = { id: 'r', headers: {}, routeOptions: {} } as FastifyRequest;
    const problem = toProblem(new AnnealError('InvalidTemplate', message, { mistakes: [first] }), request);
    return (heatWording.body(problem, request) as { error: { message: string } }).error.message;
  };
  expect(messageOf(mistake, `${mistake.message} (and 1 more)`)).toBe(
    'Property error: : resources.two.properties.value: : The Parameter (size) was not provided. (and 1 more)',
  );
  const inOutput = { ...mistake, path: 'outputs.a.value.get_param' };
  expect(messageOf(inOutput, mistake.message)).toBe(mistake.message);
});

it.each<[body: unknown, message: string]>([
  [{ minutes: 'x' }, 'minutes must be a number.'],
  [{ minutes: 1, colour: 'red', size: 1 }, 'Unexpected parameters in body: colour, size'],
  [[], 'The request body must be a JSON object.'],
  [{ minutes: 1, name: 1 }, 'The request body is not valid: name: Invalid input: expected string, received number'],
  [{ minutes: 13 }, 'Too late for anything'],
])('the body %j is refused as Heat words it', (body, message) => {
  const read = bodyReader(
    z
      .strictObject({ minutes: z.number('must be a number'), name: z.string().optional() })
      .refine(({ minutes }) => minutes < 13, 'Too late for anything'),
    refuseInHeat,
  );
  expect(() => read(body)).toThrow(expect.objectContaining({ code: 'InvalidRequest', message }));
});
