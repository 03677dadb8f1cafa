/** The Redfish endpoint in front of all machines, like the controller of an enclosure. */
import fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { Faults } from '../faults.ts';
import type { Certificate } from '../certificate.ts';
import { labRoutes } from './lab-routes.ts';
import type { LabMachine } from '../machine.ts';
import { accountRoutes } from './account-routes.ts';
import { bmcPath, root } from './endpoint.ts';
import { eventServiceRoutes } from './event-routes.ts';
import { errorBody, RedfishError } from './errors.ts';
import { impersonate } from './impersonate.ts';
import { machineRoutes } from './machine-routes.ts';
import { misbehave } from './misbehaviour.ts';
import { followProtocol, unknownMethod } from './protocol.ts';
import { serviceRoutes } from './service-routes.ts';
import { settingsRoutes } from './settings-routes.ts';
import { Sessions, type BmcCredentials } from './sessions.ts';
import { Tasks } from './tasks.ts';

export interface RedfishOptions {
  readonly machines: readonly LabMachine[];
  readonly credentials: BmcCredentials;
  readonly log: Logger;
  readonly sessionLimit?: number;
  readonly sessionTimeoutMs?: number;
  /** Default: true. */
  readonly eventStream?: boolean | undefined;
  /** Enables HTTPS. */
  readonly certificate?: Certificate | undefined;
}

/** The paths that the standard leaves without authentication, because clients find there where to log in. */
const open = new Set(['/redfish', root, `${root}/odata`, `${root}/$metadata`]);

export function createRedfish(options: RedfishOptions): FastifyInstance {
  const { credentials, log } = options;
  const machines = new Map(options.machines.map((machine) => [machine.state.name, machine]));
  const names = [...machines.keys()];
  const faults = new Map(names.map((name) => [name, new Faults()]));
  for (const [name, machine] of machines) machine.follow(faults.get(name));
  const sessions = new Sessions({
    credentials,
    limit: options.sessionLimit ?? 16,
    timeoutMs: options.sessionTimeoutMs ?? 30 * 60_000,
  });
  const tasks = new Tasks();

  const app = fastify({
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true },
    clientErrorHandler: (error, socket) => {
      if (socket.writable) socket.end(error.code === 'HPE_INVALID_METHOD' ? unknownMethod : badRequest);
      else socket.destroy();
    },
    // Fastify's types distinguish HTTP from HTTPS by this option. The code below is the same for both.
    ...((options.certificate && { https: options.certificate }) as FastifyHttpOptions<Server> | undefined),
  });
  followProtocol(app);
  // Some clients send `Content-Type: application/json` without a body. Real controllers accept that.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? {} : JSON.parse(text as string));
    } catch {
      done(new RedfishError('MalformedJSON', 'The request body is not valid JSON.'));
    }
  });

  misbehave(app, faults);
  app.addHook('onRequest', (request, _reply, done) => {
    const path = bmcPath(request);
    const login = request.method === 'POST' && /^\/redfish\/v1\/SessionService\/Sessions(\/Members)?$/.test(path);
    try {
      if (!open.has(path) && !login)
        sessions.authenticate({
          token: one(request.headers['x-auth-token']),
          authorization: request.headers.authorization,
        });
      done();
    } catch (error) {
      done(error as Error);
    }
  });

  impersonate(app, { faults, tasks });

  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RedfishError) return reply.code(error.status).headers(error.headers).send(errorBody(error));
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    const message = error instanceof Error ? error.message : String(error);
    if (status >= 500) log.error({ err: error, path: request.url }, 'unhandled error; replied with its status');
    return reply.code(status).send(errorBody({ key: status >= 500 ? 'InternalError' : 'GeneralError', message }));
  });

  const endpoint = { app, machines, faults, sessions, tasks, hasEventStream: options.eventStream ?? true };
  serviceRoutes(endpoint);
  accountRoutes(endpoint);
  machineRoutes(endpoint);
  settingsRoutes(endpoint);
  eventServiceRoutes(endpoint);
  labRoutes(endpoint);
  return app;
}

const badRequest = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);
