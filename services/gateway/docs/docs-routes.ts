/**
 * The documentation at /docs: the built site, as static files.
 *
 * The folder is read at each request, so that a site that is built while the server runs appears by itself.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { wantFolder } from '@anneal/runtime/service/built-folder.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';

/** The folder that `npm run build:docs` fills. */
const builtFolder = join(import.meta.dirname, '../../docs/dist');

export const docsFilesPrefix = '/docs';

/** No script, style, font or connection from anywhere else. Diagrams have their style inside. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const siteHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-cache',
};

const absentPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Anneal</title><h1>The documentation is being built</h1>
<p>This takes some seconds, once. This page continues by itself.
<p>If it does not: run <code>npm run build:docs</code> on the server. The pages are also in the folder <code>docs</code> of the repository.</html>`;

/** Serves without a login: the pages are those of the public repository. */
export function docsFiles(scope: FastifyInstance, folder = builtFolder): void {
  scope.addHook('onRequest', async (_request, reply) => {
    void reply.headers(siteHeaders);
    wantFolder(folder);
    if (
      await access(join(folder, 'index.html')).then(
        () => false,
        () => true,
      )
    ) {
      return reply.type('text/html; charset=utf-8').send(absentPage);
    }
  });
  void scope.register(fastifyStatic, {
    root: folder,
    serve: false,
    // `siteHeaders` has it.
    cacheControl: false,
    // Without this it warns when the folder does not exist yet.
    logLevel: 'silent',
  });
  const page = { method: 'GET', answer: z.string(), answerType: 'text/html' } as const;
  serveRoutes(scope, [
    route({
      ...page,
      path: '/',
      summary: 'Show the first page of the documentation.',
      handle: ({ reply }) => reply.sendFile('index.html'),
    }),
    route({
      ...page,
      path: '/*',
      summary: 'Show a page or a file of the documentation.',
      handle: ({ params: { '*': path }, reply }) =>
        reply.sendFile(/^(?:assets|files|schemas)\//.test(path) ? path : `${path.replace(/\/$/, '')}.html`),
    }),
  ]);
}
