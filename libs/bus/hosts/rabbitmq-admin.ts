/** The management API of RabbitMQ: users and their rights. */
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { connectionReason } from '../rabbitmq/connection.ts';
import { doorAway } from './door.ts';
import type { RabbitRights } from './rights.ts';

const timeoutMs = 10_000;

/**
 * The waits before a call is repeated that the management failed on (5xx). It fails on a list of connections of which
 * one ends at that moment, as those of a removed user do.
 */
const repeatAfterMs = [100, 400, 1600];

interface AdminRequest {
  readonly method: 'PUT' | 'DELETE';
  readonly path: readonly string[];
  readonly body?: object;
  readonly what: string;
}

/** The calls of a user with the tag `administrator`. Each may be repeated. */
export class RabbitAdmin {
  readonly #root: string;
  readonly #authorization: string;

  /** @throws AnnealError InvalidRequest for an address that is not `http[s]://user:password@host[:port]` */
  constructor(url: string) {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username === '') {
      throw new AnnealError(
        'InvalidRequest',
        'The management URL of the broker for hosts must have the form http[s]://user:password@host[:port].',
      );
    }
    const credentials = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
    this.#authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    this.#root = `${parsed.origin}${parsed.pathname.replace(/\/$/, '')}/api`;
  }

  /** Creates a user with these rights in one virtual host and none elsewhere. */
  async createUser(user: {
    name: string;
    password: string;
    vhost: string;
    rights: RabbitRights;
    limits: Readonly<Record<string, number>>;
  }): Promise<void> {
    const { name, password, vhost, rights, limits } = user;
    const what = `Cannot create the user ${name}`;
    await this.#send({ method: 'PUT', path: ['users', name], body: { password, tags: '' }, what });
    for (const [limit, value] of Object.entries(limits)) {
      await this.#send({ method: 'PUT', path: ['user-limits', name, limit], body: { value }, what });
    }
    await this.#send({ method: 'PUT', path: ['permissions', vhost, name], body: rights, what });
  }

  /** Removes a user and ends its connections. An absent user is success. */
  async removeUser(name: string): Promise<void> {
    const what = `Cannot remove the user ${name}`;
    await this.#send({ method: 'DELETE', path: ['users', name], what });
    await this.#send({ method: 'DELETE', path: ['connections', 'username', name], what });
  }

  async #send(request: AdminRequest): Promise<void> {
    const { method, what } = request;
    let response = await this.#once(request);
    for (const wait of repeatAfterMs) {
      if (response.status < 500) break;
      await delay(wait);
      response = await this.#once(request);
    }
    const { status, text } = response;
    if ((status >= 200 && status < 300) || (method === 'DELETE' && status === 404)) return;
    const why =
      status === 401
        ? 'it refused the credentials, or its user lacks the tag administrator'
        : [`it answered ${status}`, text.slice(0, 200)].filter(Boolean).join(' ');
    throw doorAway(what, `the management of the broker at ${this.#root} refused: ${why}`);
  }

  async #once({ method, path, body, what }: AdminRequest): Promise<{ status: number; text: string }> {
    const url = `${this.#root}/${path.map(encodeURIComponent).join('/')}`;
    try {
      const response = await fetch(url, {
        method,
        headers: { authorization: this.#authorization, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw doorAway(what, `the management of the broker at ${this.#root} does not answer: ${connectionReason(cause)}`);
    }
  }
}
