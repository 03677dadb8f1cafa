/** An OpenID provider: panva's `oidc-provider`, with its own login pages, and a browser that fills their forms. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import { Provider, type Configuration } from 'oidc-provider';

/** The claims of a user at the provider beside `sub`. */
export interface Account {
  preferred_username?: string;
  groups?: string[];
}

export interface OpenIdProvider {
  readonly issuer: string;
  /** The users by their subject. A test may change them. */
  readonly accounts: Map<string, Account>;
  /** Signs a token with the present key of the provider. */
  sign(claims: JWTPayload): Promise<string>;
  /** Replaces the key. The provider no longer publishes the old one. */
  rotate(): Promise<void>;
  /** An access token that the provider gives a client for a user who has logged in: an opaque text. */
  accessToken(client: ClientName, subject: string): Promise<string>;
  /** Sets the address to which Anneal's logins come back. */
  comeBackTo(redirectUri: string): void;
  /** Answers nothing until `pause(false)`. */
  pause(paused: boolean): void;
  stop(): Promise<void>;
}

/** The clients that the provider knows: `anneal` with its secret, and another program. */
export const clients = { anneal: 'the secret of anneal', other: 'the secret of another program' } as const;
export type ClientName = keyof typeof clients;

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * Starts a provider on a free port of this machine. Its host is `localhost`, which is another site than 127.0.0.1 for a
 * browser.
 */
export async function startOpenIdProvider(
  comeBackTo = 'http://127.0.0.1/identity/oidc/callback',
): Promise<OpenIdProvider> {
  const accounts = new Map<string, Account>();
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  let paused = false;
  const server = createServer((request, response) => void (paused ? request.destroy() : handle(request, response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  let key: { id: string; sign: CryptoKey; jwk: JWK };
  let redirectUri = comeBackTo;
  let keys = 0;
  const configure = (): void => {
    handle = new Provider(issuer, configurationOf({ accounts, jwk: key.jwk, redirectUri })).callback();
  };
  const rotate = async (): Promise<void> => {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    keys += 1;
    const id = `key-${keys}`;
    const jwk: JWK = { ...(await exportJWK(privateKey)), kid: id, alg: 'RS256', use: 'sig' };
    key = { id, sign: privateKey, jwk };
    configure();
  };
  await rotate();
  return {
    issuer,
    accounts,
    rotate,
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.id }).sign(key.sign),
    comeBackTo: (address) => {
      redirectUri = address;
      configure();
    },
    pause: (now) => {
      paused = now;
    },
    async accessToken(client, subject) {
      const ask = async (path: string, fields: Record<string, string>) => {
        const response = await fetch(`${issuer}${path}`, {
          method: 'POST',
          headers: { authorization: `Basic ${btoa(`${client}:${encodeURIComponent(clients[client])}`)}` },
          body: new URLSearchParams(fields),
        });
        return (await response.json()) as Record<string, string>;
      };
      const begun = await ask('/device/auth', { scope: 'openid profile groups' });
      await confirmDevice(begun['verification_uri_complete'] ?? '', subject);
      const got = await ask('/token', { grant_type: deviceGrant, device_code: begun['device_code'] ?? '' });
      return got['access_token'] ?? '';
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const configurationOf = ({
  accounts,
  jwk,
  redirectUri,
}: {
  accounts: ReadonlyMap<string, Account>;
  jwk: JWK;
  redirectUri: string;
}): Configuration => ({
  clients: Object.entries(clients).map(([client_id, client_secret]) => ({
    client_id,
    client_secret,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', deviceGrant],
    response_types: ['code'],
  })),
  jwks: { keys: [jwk] },
  cookies: { keys: ['a key of the test'] },
  claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'groups'],
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, introspection: { enabled: true } },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }),
});

/** A browser without scripts: it keeps cookies, follows redirects, and fills the forms of the provider. */
export class FormBrowser {
  /** By origin. */
  readonly #cookies = new Map<string, Map<string, string>>();

  /** The cookies that the server at this address gave it. */
  cookies(address: string): string {
    const jar = this.#cookies.get(new URL(address).origin) ?? new Map<string, string>();
    return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Requests one address and follows nothing. */
  async request(address: string, form?: URLSearchParams): Promise<Response> {
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: this.cookies(address), accept: 'text/html' },
      ...(form && { method: 'POST', body: form }),
    });
    const { origin } = new URL(address);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      const at = pair.indexOf('=');
      if (pair.slice(at + 1) === '') jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    this.#cookies.set(origin, jar);
    return response;
  }

  /** Logs in as a user until an address begins with `end`, or a page has no form. Returns that address. */
  async logIn(address: string, { subject, end = '' }: { subject: string; end?: string }): Promise<string> {
    let at = address;
    let form: URLSearchParams | undefined;
    for (let steps = 0; steps < 20; steps += 1) {
      if (end !== '' && at.startsWith(end)) return at;
      const response = await this.request(at, form);
      form = undefined;
      const location = response.headers.get('location');
      const page = await response.text();
      if (location !== null) {
        at = new URL(location, at).href;
        continue;
      }
      const action = /<form[^>]*\baction="([^"]+)"/.exec(page)?.[1];
      if (action === undefined) return at;
      at = new URL(action, at).href;
      form = new URLSearchParams({ login: subject, password: 'any' });
      for (const [field] of page.matchAll(/<input[^>]*>/g)) {
        const name = /\bname="([^"]+)"/.exec(field)?.[1];
        const value = /\bvalue="([^"]*)"/.exec(field)?.[1];
        if (name !== undefined && value !== undefined) form.set(name, value);
      }
    }
    throw new Error(`The login did not end; the last address is ${at}`);
  }
}

/** Confirms a device login as this user. */
export async function confirmDevice(address: string, subject: string): Promise<void> {
  await new FormBrowser().logIn(address, { subject });
}
