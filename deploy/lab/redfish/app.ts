/** The Redfish endpoint in front of all machines, as the controller of an enclosure has it. */
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { Faults } from '../faults.ts';
import { labRoutes } from '../lab-routes.ts';
import type { Machine } from '../machine.ts';
import { pathOf, root } from './endpoint.ts';
import { errorBody, notFound, RedfishError } from './errors.ts';
import { machineRoutes } from './machine-routes.ts';
import { serviceRoutes } from './service-routes.ts';
import { Sessions, type Credentials } from './sessions.ts';
import { Tasks } from './tasks.ts';

export interface RedfishOptions {
  readonly machines: readonly Machine[];
  readonly credentials: Credentials;
  readonly log: Logger;
  readonly sessionLimit?: number;
  readonly sessionTimeoutMs?: number;
}

/** Entry of the standard that needs no authentication: how else would a client find where to log in. */
const open = new Set(['/redfish', root, `${root}/odata`, `${root}/$metadata`]);

export function createRedfish(options: RedfishOptions): FastifyInstance {
  const { credentials, log } = options;
  const machines = new Map(options.machines.map((machine) => [machine.state.name, machine]));
  const names = [...machines.keys()];
  const faults = new Map(names.map((name) => [name, new Faults()]));
  const sessions = new Sessions({
    credentials,
    limit: options.sessionLimit ?? 16,
    timeoutMs: options.sessionTimeoutMs ?? 30 * 60_000,
  });
  const tasks = new Tasks();

  const app = fastify({ forceCloseConnections: true, routerOptions: { ignoreTrailingSlash: true } });
  // Some clients send no body with `Content-Type: application/json`; a controller does not mind.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? {} : JSON.parse(text as string));
    } catch {
      done(new RedfishError(400, 'MalformedJSON', 'The request body is not valid JSON.'));
    }
  });

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('odata-version', '4.0').header('cache-control', 'no-cache');
    const path = pathOf(request);
    const id = /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(path)?.[1];
    const fault = id === undefined ? undefined : faults.get(id);
    if (fault?.isDark) {
      request.raw.socket.destroy();
      reply.hijack();
      return;
    }
    if (fault && fault.slowMs > 0) await sleep(fault.slowMs);
    const wait = fault?.takeBusy();
    if (wait !== undefined) {
      throw new RedfishError(
        503,
        'ServiceTemporarilyUnavailable',
        `The service is temporarily unavailable. Retry in ${wait} seconds.`,
        {
          headers: { 'retry-after': String(wait) },
        },
      );
    }
    const login = request.method === 'POST' && /^\/redfish\/v1\/SessionService\/Sessions(\/Members)?$/.test(path);
    if (open.has(path) || login) return;
    sessions.authenticate({
      token: one(request.headers['x-auth-token']),
      authorization: request.headers.authorization,
    });
  });

  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RedfishError) return reply.code(error.status).headers(error.headers).send(errorBody(error));
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    const message = error instanceof Error ? error.message : String(error);
    if (status >= 500) log.error({ err: error, path: request.url }, 'the endpoint failed');
    return reply.code(status).send(errorBody({ key: status >= 500 ? 'InternalError' : 'GeneralError', message }));
  });
  app.setNotFoundHandler((request) => {
    throw notFound(pathOf(request));
  });

  const endpoint = { app, machines, faults, sessions, tasks };
  serviceRoutes(endpoint);
  machineRoutes(endpoint);
  labRoutes(endpoint);
  return app;
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);
