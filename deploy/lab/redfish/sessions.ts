/** Authentication: sessions with a token and an expiry, and HTTP Basic. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { RedfishError } from './errors.ts';

export interface Session {
  readonly id: string;
  readonly userName: string;
  readonly token: string;
  readonly createdAt: Date;
  lastUsedAt: number;
}

export interface BmcCredentials {
  readonly username: string;
  readonly password: string;
}

export class Sessions {
  readonly timeoutMs: number;
  readonly #credentials: BmcCredentials;
  readonly #limit: number;
  readonly #sessions = new Map<string, Session>();

  constructor(options: { credentials: BmcCredentials; limit: number; timeoutMs: number }) {
    this.#credentials = options.credentials;
    this.#limit = options.limit;
    this.timeoutMs = options.timeoutMs;
  }

  get userName(): string {
    return this.#credentials.username;
  }

  /** Ends all sessions, as a restart of a controller does. */
  endAll(): void {
    this.#sessions.clear();
  }

  list(): Session[] {
    const oldest = Date.now() - this.timeoutMs;
    for (const session of this.#sessions.values()) if (session.lastUsedAt < oldest) this.#sessions.delete(session.id);
    return [...this.#sessions.values()];
  }

  open({ username, password }: BmcCredentials): Session {
    if (!this.#matches({ username, password })) throw noSession();
    if (this.list().length >= this.#limit) {
      throw new RedfishError(
        'SessionLimitExceeded',
        `There are ${this.#limit} sessions already; delete one, or wait until one expires.`,
        {
          headers: { 'retry-after': '5' },
        },
      );
    }
    const session: Session = {
      id: randomBytes(6).toString('hex'),
      userName: username,
      token: randomBytes(24).toString('base64url'),
      createdAt: new Date(),
      lastUsedAt: Date.now(),
    };
    this.#sessions.set(session.id, session);
    return session;
  }

  close(id: string): boolean {
    return this.#sessions.delete(id);
  }

  /** @throws RedfishError 401 */
  authenticate(headers: { token: string | undefined; authorization: string | undefined }): void {
    const { token, authorization } = headers;
    if (token !== undefined) {
      const session = this.list().find((entry) => same(entry.token, token));
      if (!session) throw noSession();
      session.lastUsedAt = Date.now();
      return;
    }
    const basic = /^Basic\s+(\S+)$/i.exec(authorization ?? '')?.[1];
    if (basic === undefined) throw noSession();
    const [username = '', ...password] = Buffer.from(basic, 'base64').toString('utf8').split(':');
    if (!this.#matches({ username, password: password.join(':') })) throw noSession();
  }

  #matches({ username, password }: BmcCredentials): boolean {
    const user = same(username, this.#credentials.username);
    return same(password, this.#credentials.password) && user;
  }
}

/** The answer to credentials that are wrong or missing. */
export const noSession = (): RedfishError =>
  new RedfishError('NoValidSession', 'There is no valid session established with the implementation.', {
    headers: { 'www-authenticate': 'Basic realm="Redfish"' },
  });

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const same = (left: string, right: string): boolean => timingSafeEqual(digest(left), digest(right));
