/** Every service in this process on the embedded bus and store, a listener, and requests whose bodies are texts. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { logInOverHttp } from '../../e2e/log-in.ts';
import { wordOf, at, type Odd, readOdd, oddText } from './document.ts';

const password = 'correct horse';
const patienceMs = 20_000;
const settings: Readonly<Record<string, string>> = {
  ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
  ANNEAL_PROVISIONING_TEST_DRIVER: 'true',
  ANNEAL_SCHEDULING_DELETE_GRACE_SECONDS: '0',
};

/** An answer that refuses the request. */
export class RefusedCall extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A request that the listener got. */
interface HeardRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class ValuesWorld {
  readonly url: string;
  readonly context: TestContext;
  readonly listener: string;
  readonly password = password;
  readonly #heard: HeardRequest[] = [];
  readonly #services: RunningService[];
  readonly #server: Server;
  #token = '';
  #project = '';
  #count = 0;

  static async open(): Promise<ValuesWorld> {
    const port = await freeLocalPort();
    const url = `http://127.0.0.1:${port}`;
    const context = await createTestContext({ name: 'gateway', gatewayUrl: url });
    const given: Record<string, string> = { ...settings, ANNEAL_GATEWAY_PORT: String(port) };
    const identity = await startIdentity(context, password);
    const others = [
      templatingService,
      schedulingService,
      configurationService,
      notificationService,
      provisioningService,
      gatewayService,
    ];
    const services = await Promise.all(
      others.map((service) => {
        const own = Object.entries(given).filter(([name]) => name.startsWith(`ANNEAL_${service.name.toUpperCase()}_`));
        return service.start(context, readSettings(service.settings, Object.fromEntries(own)) as never);
      }),
    );
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const world = new ValuesWorld({ url, context, services: [identity, ...services], server });
    await world.#logIn();
    return world;
  }

  private constructor(parts: { url: string; context: TestContext; services: RunningService[]; server: Server }) {
    this.url = parts.url;
    this.context = parts.context;
    this.#services = parts.services;
    this.#server = parts.server;
    this.listener = `http://127.0.0.1:${(parts.server.address() as AddressInfo).port}`;
    parts.server.on('request', (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        this.#heard.push({ path: request.url ?? '', headers: request.headers, body });
        response.end();
      });
    });
  }

  async #logIn(): Promise<void> {
    const { token, project } = await logInOverHttp({ url: this.url, password });
    this.#token = token;
    this.#project = project;
  }

  /** A name that nothing else in this world has. */
  name(kind: string): string {
    this.#count += 1;
    return `${kind}-${this.#count}`;
  }

  /** A MAC address that nothing else in this world has. */
  address(): string {
    this.#count += 1;
    return `52:54:00:00:${[this.#count >> 8, this.#count & 0xff].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
  }

  oddText(value: Odd): string {
    return oddText(value);
  }

  get project(): string {
    return this.#project;
  }

  /** The roots of the APIs. */
  get heat(): string {
    return `/orchestration/v1/${this.#project}`;
  }

  /** Sends a text of JSON. @throws RefusedCall */
  async call(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Odd> {
    const answer = await fetch(path.startsWith('http') ? path : `${this.url}${path}`, {
      method,
      headers: {
        'x-auth-token': this.#token,
        'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await answer.text();
    if (!answer.ok) throw new RefusedCall(answer.status, `${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : readOdd(text);
  }

  /** The first event of a stream that `choose` finds something in. */
  async streamed<T>(path: string, choose: (data: Odd) => T | undefined, begun: () => Promise<unknown>): Promise<T> {
    const ending = new AbortController();
    const answer = await fetch(`${this.url}${path}`, {
      headers: { 'x-auth-token': this.#token, accept: 'text/event-stream' },
      signal: AbortSignal.any([ending.signal, AbortSignal.timeout(patienceMs)]),
    });
    try {
      let text = '';
      let hasBegun: Promise<unknown> | undefined = begun();
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        for (const [, data = ''] of text.matchAll(/^data: ?([^\n]*)\n/gm)) {
          const found = choose(readOdd(data));
          if (found !== undefined) return found;
        }
        await hasBegun;
        hasBegun = undefined;
      }
    } finally {
      ending.abort();
    }
    throw new Error(`The stream ${path} has ended.`);
  }

  /** The first text of the WebSocket of events that `choose` finds something in. */
  async socket<T>(filter: string, choose: (data: Odd) => T | undefined, begun: () => Promise<unknown>): Promise<T> {
    const ticket = wordOf(at(await this.call('POST', '/api/v1/events/ticket', filter), 'ticket'));
    const socket = new WebSocket(`${this.url.replace('http', 'ws')}/api/v1/events/ws?ticket=${ticket}`);
    const ending = AbortSignal.timeout(patienceMs);
    try {
      await once(socket, 'open', { signal: ending });
      const found = new Promise<T>((resolve, reject) => {
        ending.addEventListener('abort', () => reject(new Error('The WebSocket sent nothing of it.')));
        socket.addEventListener('message', ({ data }) => {
          const chosen = choose(readOdd(String(data)));
          if (chosen !== undefined) resolve(chosen);
        });
      });
      // A refusal of what begins it ends the wait.
      return await Promise.race([found, begun().then(() => found)]);
    } finally {
      socket.close();
    }
  }

  /** The request that the listener got at this path. */
  request(path: string): Promise<HeardRequest> {
    return eventually(() => this.#heard.find((each) => each.path === path), {
      what: `a request to ${path}`,
      last: () => this.#heard.map((each) => each.path),
    });
  }

  /** The body of the request that the listener got at this path. */
  async heard(path: string): Promise<Odd> {
    return readOdd((await this.request(path)).body);
  }

  /** Reads until a value satisfies the condition. */
  async until(path: string, isWanted: (value: Odd) => boolean): Promise<Odd> {
    let last: Odd = null;
    return eventually(
      async () => {
        last = await this.call('GET', path);
        return isWanted(last) ? { value: last } : undefined;
      },
      { what: path, within: 20_000, last: () => oddText(last).slice(0, 3000) },
    ).then(({ value }) => value);
  }

  /** Waits for the end of the action of a stack. Returns it. */
  async complete(stack: string): Promise<Odd> {
    const shown = await this.until(
      `${this.heat}/stacks/${stack}`,
      (each) => !wordOf(at(each, 'stack', 'stack_status')).endsWith('IN_PROGRESS'),
    );
    const status = wordOf(at(shown, 'stack', 'stack_status'));
    if (status.endsWith('COMPLETE')) return at(shown, 'stack');
    throw new Error(`${status}: ${oddText(at(shown, 'stack', 'stack_status_reason'))}`);
  }

  /** Creates a stack from the members of a body. Returns it when it is complete. */
  async stack(members: Readonly<Record<string, string>>, name = this.name('s')): Promise<Odd> {
    const body = Object.entries({ stack_name: JSON.stringify(name), ...members }).map(
      ([key, text]) => `${JSON.stringify(key)}:${text}`,
    );
    await this.call('POST', `${this.heat}/stacks`, `{${body.join(',')}}`);
    return this.complete(name);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    for (const service of this.#services.toReversed()) await service.stop();
    await this.context.dispose();
  }
}
