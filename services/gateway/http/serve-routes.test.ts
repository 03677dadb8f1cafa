import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { route } from './route.ts';
import { serveRoutes } from './serve-routes.ts';

it('answers HEAD as the GET of the address, unless that is a stream or the address has a HEAD of its own', async () => {
  const app = Fastify({ exposeHeadRoutes: false });
  const read = { method: 'GET', summary: 'Read.', answer: z.object({}), handle: () => ({}) } as const;
  serveRoutes(
    app,
    [
      route({ ...read, path: '/plain' }),
      route({ method: ['GET', 'POST'], path: '/check/{id}', summary: 'Check.', handle: () => undefined }),
      route({ ...read, path: '/stream', stream: true }),
      route({ ...read, path: '/own' }),
      route({
        method: 'HEAD',
        path: '/own',
        summary: 'Check.',
        status: 200,
        handle: ({ reply }) => void reply.header('x-own', 'yes'),
      }),
    ],
    { hasHead: true },
  );
  const head = async (url: string) => {
    const { statusCode, headers } = await app.inject({ method: 'HEAD', url });
    return [url, statusCode, headers['x-own']];
  };
  expect(await Promise.all(['/plain', '/check/1', '/stream', '/own'].map(head))).toEqual([
    ['/plain', 200, undefined],
    ['/check/1', 204, undefined],
    ['/stream', 404, undefined],
    ['/own', 200, 'yes'],
  ]);
  await app.close();
});
