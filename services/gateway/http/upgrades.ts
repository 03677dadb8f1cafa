/**
 * Requests that become WebSockets. They pass through the same routes, limits and token checks as all others; a route
 * accepts one, or it is answered as an ordinary request and its connection ends.
 *
 * U1 Only a `GET` with `Upgrade: websocket` for a path of the list is treated so. Every other offer to upgrade (as
 *    `h2c`, which some clients make with each request) is ignored, as HTTP demands.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { WebSocketServer, type WebSocket } from 'ws';

/** The subprotocol of CloudEvents: each text is an event in structured mode. */
const cloudEventsProtocol = 'cloudevents.json';

/** Clients send nothing but control frames. */
const longestMessage = 4_096;

export class Upgrades {
  readonly #paths: readonly string[];
  readonly #waiting = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer; response: ServerResponse }>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: longestMessage,
    handleProtocols: (offered) => (offered.has(cloudEventsProtocol) ? cloudEventsProtocol : false),
  });

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Whether a request is routed as one that may become a WebSocket (U1). */
  readonly wants = ({ method, url = '', headers }: IncomingMessage): boolean =>
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    this.#paths.includes(url.split('?', 1)[0]?.replace(/\/$/, '') ?? '');

  /** Sends such requests through the routes of the server. */
  route(app: FastifyInstance): void {
    app.server.on('upgrade', (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
      const response = new ServerResponse(raw);
      // The parser of the connection is gone, so no further request can follow a refusal.
      response.shouldKeepAlive = false;
      response.once('finish', () => socket.end());
      socket.on('error', () => socket.destroy());
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
      this.#waiting.set(raw, { socket, head, response });
      app.routing(raw, response);
    });
  }

  /**
   * Completes the handshake.
   * @throws AnnealError InvalidRequest for a request that does not ask for a WebSocket, before anything is written
   */
  async accept({ request, reply }: { request: FastifyRequest; reply: FastifyReply }): Promise<WebSocket> {
    const { raw } = request;
    const waiting = this.#waiting.get(raw);
    if (!waiting) {
      void reply.header('upgrade', 'websocket');
      throw new AnnealError('InvalidRequest', 'This address is a WebSocket: open it with `Upgrade: websocket`.');
    }
    const { socket, head, response } = waiting;
    this.#waiting.delete(raw);
    reply.hijack();
    response.removeAllListeners('finish');
    response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
    return new Promise((resolve, reject) => {
      // The library answers a wrong handshake by itself and closes the connection.
      const onClose = (): void => reject(new AnnealError('InvalidRequest', 'The handshake of a WebSocket failed.'));
      socket.once('close', onClose);
      this.#server.handleUpgrade(raw, socket, head, (opened) => {
        socket.off('close', onClose);
        resolve(opened);
      });
    });
  }
}

/**
 * Refuses a page of another site. A browser lets any page open a WebSocket and adds the cookie of the session by itself,
 * so with a cookie the page must be of this server. A token in a header or a ticket in the address proves more.
 * @throws AnnealError Forbidden
 */
export function refuseForeignPage({ headers, host }: FastifyRequest): void {
  const { origin } = headers;
  if (origin === undefined || (typeof headers['x-auth-token'] === 'string' && headers['x-auth-token'] !== '')) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new AnnealError(
    'Forbidden',
    `A page of ${origin.slice(0, 200)} may not open this stream with a session of ${host}. Use a ticket: POST /api/v1/events/ticket.`,
  );
}
