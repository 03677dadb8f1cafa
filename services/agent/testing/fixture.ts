/**
 * For tests: a server that replaces the gateway for the two queues of one host, over real HTTP. It misbehaves on
 * command and records everything that the agent sends.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  hostProgressSchema,
  hostResponseSchema,
  type HostReboot,
  type HostRequest,
  type HostResponse,
} from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';

interface Queued {
  readonly id: string;
  readonly body: Json;
  claim: { id: string; client: string; until: number } | undefined;
}

export class StandIn {
  readonly responses: HostResponse[] = [];
  readonly hellos: Json[] = [];
  readonly progress: string[] = [];
  /** Reports of reboots, also those that were refused. */
  readonly reboots: (HostReboot & { readonly id: string })[] = [];
  /** Answers the reports of reboots with 503. */
  refusesReboots = false;
  readonly calls: string[] = [];
  renewals = 0;
  /** Faults of the next calls: a status to answer, or `drop`: the call is carried out and its answer is lost. */
  faults: (number | 'drop')[] = [];
  /** Takes answers with a claim and hands out batches, as the gateway does. False: as an older gateway. */
  takesAnswers = false;
  /** Delays a claim between its answers and its hand-out. */
  holdAfterAnswers: Promise<unknown> | undefined;
  /** Ids of answers that a claim must not have. */
  readonly refused = new Set<string>();
  /** The configs that requests refer to, by the ids of the requests, and inputs as JSON by `ID NAME`. */
  readonly configs = new Map<string, string>();
  readonly #queue: Queued[] = [];
  #server: Server | undefined;
  #port = 0;

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  /** Stops like `kill -9`: connections break, and stored messages stay. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  get seed(): BootSeed {
    return {
      format: 1,
      purpose: 'deploy',
      host_id: 'h1',
      hostname: 'web',
      gateway_url: `http://127.0.0.1:${this.#port}`,
      project: 'p',
      token: 'the-token',
      requests_queue: 'host.h1.requests',
      responses_queue: 'host.h1.responses',
      user_data: '',
      metadata: {},
    };
  }

  /** Removes a request that nothing waits for any more. */
  withdraw(id: string): void {
    this.#dropRequest(id);
  }

  offer(request: Json): void {
    this.#queue.push({ id: randomUUID(), body: request, claim: undefined });
  }

  get pending(): number {
    return this.#queue.length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://x');
    const parts = url.pathname.split('/').slice(4).map(decodeURIComponent);
    if (url.pathname === '/agent/v1/config') return this.#sendConfig(request, response);
    // An older server has no reports.
    if (url.pathname.startsWith('/agent/')) return void response.writeHead(404).end('{}');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length > 0 ? parseExact(Buffer.concat(chunks).toString()) : null;
    const call = `${request.method} ${parts.slice(0, 2).join('/')}`;
    this.calls.push(call);
    const fault = this.faults.shift();
    if (typeof fault === 'number') return void response.writeHead(fault).end('{}');
    if (request.headers['x-auth-token'] !== 'the-token') return void response.writeHead(401).end('{}');
    const client = String(request.headers['client-id']);
    const answer = await this.#answer({
      call,
      parts,
      body,
      client,
      query: url.searchParams,
      gone: () => response.closed,
    });
    if (fault === 'drop') return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }

  async #sendConfig(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.calls.push('POST config');
    const fault = this.faults.shift();
    const form = Buffer.concat(chunks).toString();
    const id = /name="id"\r\n\r\n([^\r]*)/.exec(form)?.[1] ?? '';
    const input = /name="input"\r\n\r\n([^\r]*)/.exec(form)?.[1];
    const config = this.configs.get(input === undefined ? id : `${id} ${input}`);
    const status = typeof fault === 'number' ? fault : config === undefined ? 404 : 200;
    response.writeHead(status).end(status === 200 ? config : '{}');
  }

  async #answer(asked: {
    call: string;
    parts: string[];
    body: Json;
    client: string;
    query: URLSearchParams;
    gone: () => boolean;
  }): Promise<{ status: number; body?: Json; headers?: Record<string, string> }> {
    const { call, parts, body, client, query } = asked;
    const id = parts[2] ?? '';
    switch (call) {
      case 'POST host.h1.requests/claims':
        return this.#claim({ client, wait: Number(query.get('wait') ?? 0), gone: asked.gone, body });
      case 'PATCH host.h1.requests/claims': {
        const held = this.#queue.find((each) => each.claim?.id === id);
        if (!held?.claim) return { status: 404 };
        this.renewals += 1;
        held.claim.until = Date.now() + 60_000;
        return { status: 204 };
      }
      case 'DELETE host.h1.requests/claims': {
        for (const each of this.#queue) if (each.claim?.id === id) each.claim = undefined;
        return { status: 204 };
      }
      case 'DELETE host.h1.requests/messages': {
        this.#drop((each) => each.id === id);
        return { status: 204 };
      }
      case 'POST host.h1.responses/messages': {
        const bodies = (body as { messages: { body: Json }[] }).messages.map((each) => each.body);
        if (this.refusesReboots && JSON.stringify(bodies).includes('"reboot"')) return { status: 503 };
        const answered = this.#take(bodies);
        // A server that takes answers removes what is answered; an older one waits for the agent to do it.
        if (this.takesAnswers) for (const each of answered) this.#dropRequest(each);
        return { status: 201, body: { resources: [] } };
      }
      default:
        return { status: 404 };
    }
  }

  async #claim(asked: { client: string; wait: number; gone: () => boolean; body: Json }) {
    const { client, wait, gone } = asked;
    const { batch = 1, answers } = this.takesAnswers
      ? (asked.body as { batch?: number; answers?: { body: HostResponse }[] })
      : {};
    const headers: Record<string, string> = this.takesAnswers ? { 'anneal-takes-answers': 'true' } : {};
    if (answers) {
      if (answers.some(({ body }) => this.refused.has(body.id))) return { status: 400 };
      const answered = this.#take(answers.map(({ body }) => body as unknown as Json));
      await this.holdAfterAnswers;
      for (const each of answered) this.#dropRequest(each);
    }
    const end = Date.now() + wait * 1000;
    for (;;) {
      const head = this.#queue[0];
      const free = head && (!head.claim || head.claim.until < Date.now() || head.claim.client === client);
      if (head && free && !gone()) {
        const claim = randomUUID();
        const messages = this.#queue.slice(0, batch).map((each) => {
          each.claim = { id: claim, client, until: Date.now() + 60_000 };
          const href = `/messaging/v2/queues/host.h1.requests/messages/${each.id}?claim_id=${claim}`;
          return { id: each.id, href, ttl: 600, age: 0, body: each.body };
        });
        return { status: 201, headers, body: { messages, ...(answers && { answered: true }) } };
      }
      if (Date.now() >= end || gone() || !this.#server) {
        return answers ? { status: 200, headers, body: { messages: [], answered: true } } : { status: 204, headers };
      }
      await sleep(5);
    }
  }

  #drop(isIt: (each: Queued) => boolean): void {
    const index = this.#queue.findIndex(isIt);
    if (index >= 0) this.#queue.splice(index, 1);
  }

  #dropRequest(id: string): void {
    this.#drop((each) => (each.body as { id?: string }).id === id);
  }

  /** Returns the ids of the requests that are answered. */
  #take(bodies: readonly Json[]): string[] {
    const answered: string[] = [];
    for (const body of bodies) {
      const progress = hostProgressSchema.safeParse(body);
      if (progress.success && progress.data.reboot)
        this.reboots.push({ id: progress.data.id, ...progress.data.reboot });
      else if (progress.success) this.progress.push(progress.data.id);
      else if (typeof body === 'object' && body !== null && 'hello' in body) this.hellos.push(body);
      else {
        const response = hostResponseSchema.parse(body);
        this.responses.push(response);
        answered.push(response.id);
      }
    }
    return answered;
  }
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'anneal-agent-'));

export function scriptRequest(script: string, more: Partial<HostRequest> = {}): HostRequest {
  return {
    id: randomUUID(),
    deployment_id: 'd1',
    name: 'configA',
    group: 'script',
    config: script,
    action: 'CREATE',
    inputs: [],
    outputs: [],
    options: {},
    deadline: new Date(Date.now() + 60_000).toISOString(),
    creation_time: new Date().toISOString(),
    ...more,
  };
}

export const agentOptions = (standIn: StandIn, directory: string) => ({
  seed: standIn.seed,
  directory,
  environment: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOST_ADDRESS: '127.0.1.1' },
  log: createLog({ level: 'silent', format: 'json' }),
  newId: randomUUID,
  now: () => new Date(),
  waitSeconds: 2,
});

export async function until<T>(read: () => T | undefined | false, what = 'the condition', ms = 25_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const value = read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) throw new Error(`${what} did not come true within ${ms} ms`);
    await sleep(10);
  }
}
