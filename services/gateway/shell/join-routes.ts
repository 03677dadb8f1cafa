/**
 * Joining: `GET /join/{token}` is a script that makes a machine a host, `POST /join/{token}/exchange` gives it the host's
 * own token. The script tells nothing about the token, because only the exchange checks it. No token is logged.
 */
import { hostJoinExchange } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { bootKeySchema, type BootSeed } from '@anneal/contracts/calls/provisioning.ts';
import { default as multipart } from '@fastify/multipart';
import { quoteForShell } from '@anneal/tools/shell.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { readJsonBodies } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { Attempts } from '../identity/attempts.ts';
import { isForm, readForm } from '../zaqar/response-form.ts';
import { shellText } from '../scripts/text.ts';

export interface JoinFamilyOptions {
  ask: Ask;
  now: () => number;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
}

export const joinPrefix = '/join';

interface JoinPath {
  Params: { token: string };
}
const joinPath = '/:token';
const tokenForm = /^[A-Za-z0-9_-]{16,128}$/;
const exchangeSchema = z.object({ key: bootKeySchema });

export function joinFamily(scope: FastifyInstance, { ask, now, wording, report }: JoinFamilyOptions): void {
  readJsonBodies(scope);
  scope.register(multipart, { limits: { fieldNameSize: 64, fieldSize: 1024, fields: 4, files: 0, parts: 4 } });
  wordErrors(scope, wording, report);
  // Many machines may join from one address, and only failures count.
  const attempts = new Attempts({ now, what: 'Joining', free: 20, longestWaitMs: 30_000 });

  scope.get<JoinPath>(joinPath, (request, reply) =>
    reply
      .type('text/x-shellscript; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(renderJoin({ url: baseUrl(request), token: tokenOf(request.params) })),
  );

  scope.post<JoinPath>(`${joinPath}/exchange`, async (request, reply) => {
    const asForm = isForm(request);
    const given = asForm ? Object.fromEntries(await readForm(request)) : request.body;
    const { key } = parseField(exchangeSchema, given, 'The exchange');
    const host = await ask('configuration', hostJoinExchange, {
      data: { join_token: tokenOf(request.params), key },
    }).catch((error: unknown) => {
      // Only wrong tokens have to wait. A right one works, whatever other requests come from its address.
      if (hasCode(error, 'NotFound')) {
        attempts.check(request.ip);
        attempts.failed(request.ip);
      }
      throw error;
    });
    void reply.header('cache-control', 'no-store');
    const url = baseUrl(request);
    if (asForm) {
      const name = host.name.replaceAll(/\p{Cc}/gu, ' ');
      // The settings of an agent: one in each line.
      const lines = {
        url,
        token: host.token,
        host: host.host_id,
        name,
        project: host.project,
        requests_queue: host.requests_queue,
        responses_queue: host.responses_queue,
      };
      return reply.type('text/plain').send(
        Object.entries(lines)
          .map(([setting, value]) => `${setting}=${value}\n`)
          .join(''),
      );
    }
    return {
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
    } satisfies BootSeed;
  });
}

/** @throws AnnealError NotFound for a text that no token has, such as a part of one */
function tokenOf({ token }: JoinPath['Params']): string {
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
