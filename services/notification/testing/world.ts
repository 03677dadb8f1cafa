/** The notification service on the real bus and store, and listeners for its webhooks. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { subscriptionCreate } from '@anneal/contracts/calls/subscriptions.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { notificationService } from '../service.ts';

export const project = 'p1';
const cleanUps: (() => unknown)[] = [];

/** Runs at the end of the test, the latest first. */
export const atEnd = (cleanUp: () => unknown): void => void cleanUps.push(cleanUp);

/** Stops all that the test has started. */
export async function cleanUpAll(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
}

export interface NotificationWorld {
  context: TestContext;
  ask: <Q, A>(call: CallDefinition<Q, A>, data: Q) => Promise<A>;
  happen: (subject: string, version: number, status?: string) => Promise<string>;
  stop: () => Promise<void>;
  start: () => Promise<void>;
}

/** Starts the service on the embedded bus and store. */
export async function startWorld(environment: Record<string, string> = {}): Promise<NotificationWorld> {
  const context = await createTestContext({ name: 'notification' });
  let running: RunningService | undefined;
  const world: NotificationWorld = {
    context,
    ask: (call, data) =>
      context.bus.request({
        queue: requestsQueue('notification'),
        call,
        message: context.mint(call, { data, project }),
      }),
    async happen(subject, version, status = 'up') {
      const data = { host_id: subject, name: subject, status, facts: {}, version };
      const event = context.mint(hostEvent.up, { data, subject, project });
      await context.bus.publish([event]);
      return event.id;
    },
    async start() {
      running = await notificationService.start(
        context,
        readSettings(notificationService.settings, { ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true', ...environment }),
      );
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
  };
  await world.start();
  cleanUps.push(
    () => context.dispose(),
    () => world.stop(),
  );
  return world;
}

export interface ReceivedEvent {
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; subject: string; data: { version: number } };
}

/** Starts a listener that records what it receives; at the same port it is the same listener again. */
export async function listen(
  answer: (received: ReceivedEvent, count: number) => { status: number; headers?: Record<string, string> } = () => ({
    status: 204,
  }),
  port = 0,
): Promise<{ url: string; port: number; received: ReceivedEvent[]; close: () => Promise<void> }> {
  const received: ReceivedEvent[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const one = { headers: request.headers, body, event: JSON.parse(body) as ReceivedEvent['event'] };
      received.push(one);
      const { status, headers } = answer(one, received.length);
      response.writeHead(status, headers).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  cleanUps.push(close);
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}/hook`, port: address.port, received, close };
}

interface OpenRequest extends ReceivedEvent {
  answer: (status: number) => void;
}

/** Starts a listener whose requests stay open until the test answers them. */
export async function listenSlowly(): Promise<{ url: string; received: ReceivedEvent[]; open: OpenRequest[] }> {
  const received: ReceivedEvent[] = [];
  const open: OpenRequest[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const one = { headers: request.headers, body, event: JSON.parse(body) as ReceivedEvent['event'] };
      received.push(one);
      const leave = (): void => void open.splice(0, open.length, ...open.filter((each) => each !== waiting));
      const waiting: OpenRequest = {
        ...one,
        answer(status) {
          leave();
          response.writeHead(status).end();
        },
      };
      open.push(waiting);
      response.once('close', leave);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanUps.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, open };
}

export const subscribe = (
  world: NotificationWorld,
  url: string,
  more: Partial<{
    types: string[];
    after: string;
    subject_prefix: string;
    batch_size: number;
    filters: JsonObject[];
    credentials: string;
    format: 'cloudevents' | 'heat';
    mode: 'structured' | 'binary';
    confirm: boolean;
    on_refusal: 'block' | 'skip';
    dead_letter: string;
    condense: 'latest' | 'digest';
    window_seconds: number;
  }> = {},
) =>
  world.ask(subscriptionCreate, {
    id: world.context.newId(),
    project,
    name: 'test',
    url,
    types: ['#'],
    subject_prefix: '',
    ...more,
  });
