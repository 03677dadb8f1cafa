/**
 * The web console: its built files, and its page for every address that belongs to no API.
 *
 * The folder is read at each request, so that a console that is built while the server runs appears by itself.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { wantFolder } from '@anneal/runtime/service/built-folder.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The folder that `npm run build:console` fills. */
const builtFolder = join(import.meta.dirname, '../../console/dist');

export const consoleFilesPrefix = '/assets';

/** No script, style or connection from anywhere else, and no page of another site may contain the console. */
const policy = [
  "default-src 'self'",
  "script-src 'self'",
  // The dialogs of the console lock the scrolling of the page with a style element.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-cache',
  vary: 'Accept',
};

/** Shown until the console is built. It asks again every two seconds. */
const waitingPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Anneal</title><h1>The console is being built</h1>
<p>This takes some seconds, once. This page continues by itself.
<p>If it does not: run <code>npm run build:console</code> on the server, or set ANNEAL_GATEWAY_CONSOLE to a folder with a built console.
<p>The API and the command line work meanwhile.</html>`;

/** Whether a browser asks for a page, and not a program for data. */
export const asksForPage = ({ method, headers: { accept } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && (accept ?? '').includes('text/html');

/** Sends the page of the console, or the page that waits for it. */
export async function sendPage(reply: FastifyReply, folder = builtFolder): Promise<FastifyReply> {
  wantFolder(folder);
  const page = await readFile(join(folder, 'index.html'), 'utf8').catch(() => waitingPage);
  return reply.headers(headers).type('text/html; charset=utf-8').send(page);
}

/** Files whose names contain the hash of their content, compressed by the build. */
export function consoleFiles(scope: FastifyInstance, folder = builtFolder): void {
  void scope.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: '/',
    preCompressed: true,
    index: false,
    immutable: true,
    maxAge: '365d',
    // Without this it warns when the folder does not exist yet.
    logLevel: 'silent',
  });
}
