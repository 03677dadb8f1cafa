/**
 * Joining: `GET /join/{token}` is a script that makes a machine a host, `POST /join/{token}/exchange` gives it the host's
 * own token. The script tells nothing about the token, because only the exchange checks it. No token is logged.
 */
import { hostJoinExchange } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { bootKeySchema, bootSeedSchema, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { default as multipart } from '@fastify/multipart';
import { quoteForShell } from '@anneal/tools/shell.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import { isForm, readForm } from '../zaqar/response-form.ts';
import { shellText } from '../scripts/text.ts';

export interface JoinFamilyOptions {
  ask: Ask;
  now: () => number;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

export const joinPrefix = '/join';

const tokenForm = /^[A-Za-z0-9_-]{16,128}$/;

export function joinFamily(scope: FastifyInstance, { ask, now, wording, report }: JoinFamilyOptions): void {
  readJsonBodies(scope);
  scope.register(multipart, { limits: { fieldNameSize: 64, fieldSize: 1024, fields: 4, files: 0, parts: 4 } });
  wordErrors(scope, wording, report);
  // Many machines may join from one address, and only failures count.
  const attempts = new Attempts({ now, what: 'Joining', free: 20, longestWaitMs: 30_000 });

  // A shell sends a form, and an agent JSON.
  scope.addHook('preValidation', async (request) => {
    if (request.method === 'POST' && isForm(request)) request.body = Object.fromEntries(await readForm(request));
  });

  serveRoutes(scope, [
    route({
      method: 'GET',
      path: '/{token}',
      summary: 'Show the script that makes a machine a host.',
      answer: z.string(),
      answerType: 'text/x-shellscript',
      handle: ({ params, request, reply }) => {
        void reply.type('text/x-shellscript; charset=utf-8').header('cache-control', 'no-store');
        return renderJoin({ url: baseUrl(request), token: tokenOf(params) });
      },
    }),
    route({
      method: 'POST',
      path: '/{token}/exchange',
      summary: 'Exchange the token of a line to join for the token of the host; a form gets lines of settings.',
      body: z.object({ key: bootKeySchema }),
      answer: bootSeedSchema,
      handle: async ({ params, body: { key }, request, reply }) => {
        const host = await ask('configuration', hostJoinExchange, {
          data: { join_token: tokenOf(params), key },
        }).catch((error: unknown) => {
          // Only wrong tokens have to wait. A right one works, whatever other requests come from its address.
          if (hasCode(error, 'NotFound')) attempts.refused({ address: request.ip });
          throw error;
        });
        void reply.header('cache-control', 'no-store');
        const url = baseUrl(request);
        return isForm(request) ? reply.type('text/plain').send(settingsOf(host, url)) : seedOf(host, url);
      },
    }),
  ]);
}

type JoinedHost = z.output<typeof hostJoinExchange.answer>;

/** The settings of an agent: one in each line. */
const settingsOf = (host: JoinedHost, url: string): string =>
  Object.entries({
    url,
    token: host.token,
    host: host.host_id,
    name: host.name.replaceAll(/\p{Cc}/gu, ' '),
    project: host.project,
    requests_queue: host.requests_queue,
    responses_queue: host.responses_queue,
  })
    .map(([setting, value]) => `${setting}=${value}\n`)
    .join('');

const seedOf = (host: JoinedHost, url: string): BootSeed => ({
  format: 1,
  purpose: 'deploy',
  host_id: host.host_id,
  hostname: host.name,
  gateway_url: url,
  project: host.project,
  token: host.token,
  requests_queue: host.requests_queue,
  responses_queue: host.responses_queue,
  user_data: '',
  metadata: {},
});

/** @throws AnnealError NotFound for a text that no token has, such as a part of one */
function tokenOf({ token }: { token: string }): string {
  if (tokenForm.test(token)) return token;
  throw new AnnealError(
    'NotFound',
    'This line to join is not complete or was changed. Get a new one: anneal host join NAME.',
  );
}

/** The script of `GET /join/{token}`. Its last line calls it, so that an incomplete script does nothing. */
export const renderJoin = ({ url, token }: { url: string; token: string }): string => `#!/bin/sh
url=${quoteForShell(url)} join=${quoteForShell(token)}
${shellText.send}${shellText.fetch}${shellText.units}${shellText.join}{ anneal_join "$@"; }
`;
