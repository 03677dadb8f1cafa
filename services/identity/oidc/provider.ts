/**
 * The OpenID provider of the installation, through openid-client.
 *
 * O1 A login in a browser has a state, a nonce and PKCE, and ends only in the browser that began it.
 * O2 The signature of each ID token is checked with the keys of the issuer, and its issuer, audience and times. A bearer
 *    token is a JWT that passes the same checks, or one that the provider says is active and for this client.
 * O3 A token with an unknown key makes Anneal fetch the keys again, so that the provider may change them.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { createRemoteJWKSet, errors as joseErrors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import * as openid from 'openid-client';
import type { ClaimMapping } from './claims.ts';

/** The OpenID provider of the installation, and what Anneal does with its users. */
export interface OidcOptions {
  readonly provider: OidcProvider;
  /** The name of the provider: in Keystone's addresses, on the button of the console, and of the domain of its users. */
  readonly name: string;
  readonly mapping: ClaimMapping;
  /** Whether the first login creates the user. */
  readonly creates: boolean;
}

/** How to reach the provider, and who Anneal is there. */
export interface ProviderSettings {
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** The audience of access tokens for Anneal. Default: the client id. */
  readonly audience: string | undefined;
  readonly scopes: string;
}

/** The secrets of a login in a browser, which only that browser keeps. */
export interface LoginChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A login on another machine: the user opens the address and confirms the code. */
export interface DeviceLogin {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete?: string;
  readonly expires_in: number;
  readonly interval?: number;
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** Clocks of the provider and of this machine may differ by this. */
const toleranceSeconds = 30;
const answerSeconds = 10;
/** Tokens with unknown keys make Anneal ask for the keys at most this often (O3). */
const keysAgainMs = 5_000;
/** The addresses of the provider are read again after this time. */
const knownMs = 3_600_000;
/** Only signatures with a public key: a token must not be signed with what Anneal itself knows. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

interface Known {
  readonly config: openid.Configuration;
  readonly keys: JWTVerifyGetKey;
}

/** Logs users in at one provider. The first login asks the provider for its addresses. */
export class OidcProvider {
  readonly #settings: ProviderSettings;
  readonly #elapsed: () => number;
  #known: Promise<Known> | undefined;
  #knownAt = 0;

  /** @param elapsed milliseconds of a clock that never steps back */
  constructor(settings: ProviderSettings, elapsed: () => number) {
    this.#settings = settings;
    this.#elapsed = elapsed;
  }

  get issuer(): string {
    return this.#settings.issuer.href;
  }

  /** The address at which a browser logs in, and what to keep until it comes back. */
  async begin(redirectUri: string): Promise<{ url: URL; checks: LoginChecks }> {
    const { config } = await this.#provider();
    const checks = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
    };
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.#settings.scopes,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    });
    return { url, checks };
  }

  /** The claims after the browser has come back to this address (O1). @throws AnnealError Unauthorized, Unavailable */
  async finish(address: URL, { state, nonce, verifier }: LoginChecks): Promise<JsonObject> {
    const { config } = await this.#provider();
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    const tokens = await asked('the login', () => openid.authorizationCodeGrant(config, address, checks));
    return this.#claimsOf(config, tokens);
  }

  /** Begins a login on another machine. @throws AnnealError Unauthorized, Unavailable, InvalidRequest */
  async beginDevice(): Promise<DeviceLogin> {
    const { config } = await this.#provider();
    if (config.serverMetadata().device_authorization_endpoint === undefined) {
      throw new AnnealError('InvalidRequest', 'The OpenID provider has no device authorization.', {
        details: { remedy: 'Log in with a browser, or with a token for a program that you create in the console.' },
      });
    }
    const scope = this.#settings.scopes;
    return asked('the device login', () => openid.initiateDeviceAuthorization(config, { scope }));
  }

  /** The claims after the user has confirmed. Undefined until then. @throws AnnealError Unauthorized, Unavailable */
  async finishDevice(deviceCode: string): Promise<JsonObject | undefined> {
    const { config } = await this.#provider();
    try {
      const tokens = await openid.genericGrantRequest(config, deviceGrant, { device_code: deviceCode });
      return await this.#claimsOf(config, tokens);
    } catch (error) {
      const code = error instanceof openid.ResponseBodyError ? error.error : '';
      if (code === 'authorization_pending' || code === 'slow_down') return undefined;
      throw failed('the device login', error);
    }
  }

  /** The claims of a bearer token (O2). @throws AnnealError Unauthorized, Unavailable */
  async claimsOfBearer(token: string): Promise<JsonObject> {
    const { config, keys } = await this.#provider();
    const isJwt = token.split('.').length === 3;
    const claims = isJwt ? await this.#verify({ config, keys }, token) : await this.#introspect(config, token);
    return this.#withUserInfo(config, claims, token);
  }

  async #verify({ config, keys }: Known, token: string): Promise<JsonObject> {
    const { audience, clientId } = this.#settings;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: config.serverMetadata().issuer,
        audience: [clientId, ...(audience === undefined ? [] : [audience])],
        requiredClaims: ['sub', 'exp'],
        clockTolerance: toleranceSeconds,
        algorithms,
      });
      return payload as JsonObject;
    } catch (error) {
      throw failed('the token', error);
    }
  }

  async #introspect(config: openid.Configuration, token: string): Promise<JsonObject> {
    const { audience, clientId } = this.#settings;
    if (config.serverMetadata().introspection_endpoint === undefined) throw refused('the token', 'it is no JWT');
    const found = await asked('the token', () => openid.tokenIntrospection(config, token));
    if (!found.active) throw refused('the token', 'the provider says that it is not active');
    // A token of another program must not log in here: its user has not agreed to that.
    const audiences = [found.client_id, ...(Array.isArray(found.aud) ? found.aud : [found.aud])];
    if (!audiences.some((each) => each !== undefined && (each === clientId || each === audience))) {
      throw refused('the token', 'it is for another client');
    }
    return found as unknown as JsonObject;
  }

  async #claimsOf(
    config: openid.Configuration,
    tokens: Pick<openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers, 'access_token' | 'claims'>,
  ): Promise<JsonObject> {
    const claims = tokens.claims() as JsonObject | undefined;
    if (!claims) throw refused('the login', 'the provider sent no ID token');
    return this.#withUserInfo(config, claims, tokens.access_token);
  }

  /** Adds the claims that the provider gives only at its own address. A provider without one has all in the token. */
  async #withUserInfo(config: openid.Configuration, claims: JsonObject, accessToken: string): Promise<JsonObject> {
    const { sub } = claims as { sub?: Json };
    if (config.serverMetadata().userinfo_endpoint === undefined || typeof sub !== 'string') return claims;
    try {
      const more = await openid.fetchUserInfo(config, accessToken, sub);
      return { ...(more as JsonObject), ...claims };
    } catch (error) {
      // Access tokens for another resource, and ID tokens, are refused there. What the token itself says is proven.
      if (error instanceof openid.WWWAuthenticateChallengeError || error instanceof openid.ResponseBodyError) {
        return claims;
      }
      throw failed('the description of the user', error);
    }
  }

  /** The provider's addresses and keys. A failure is not remembered. */
  #provider(): Promise<Known> {
    if (this.#known && this.#elapsed() - this.#knownAt < knownMs) return this.#known;
    const asking = this.#discover();
    this.#known = asking;
    this.#knownAt = this.#elapsed();
    asking.catch(() => {
      if (this.#known === asking) this.#known = undefined;
    });
    return asking;
  }

  async #discover(): Promise<Known> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const metadata = { [openid.clockTolerance]: toleranceSeconds };
    const authentication = clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret);
    const config = await asked('the address of the provider', () =>
      openid.discovery(issuer, clientId, metadata, authentication, {
        // The settings accept http only for a provider on this machine.
        execute: [
          openid.enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
        ],
        timeout: answerSeconds,
      }),
    );
    const { jwks_uri: keysAt } = config.serverMetadata();
    if (keysAt === undefined) throw refused('the address of the provider', 'it publishes no keys');
    const keys = createRemoteJWKSet(new URL(keysAt), {
      timeoutDuration: answerSeconds * 1000,
      cooldownDuration: keysAgainMs,
    });
    return { config, keys };
  }
}

async function asked<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw failed(what, error);
  }
}

/** An answer that refuses, or that is not to be believed, ends the login. Without an answer, it may succeed later. */
function failed(what: string, error: unknown): AnnealError {
  if (error instanceof AnnealError) return error;
  if (error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError) {
    return refused(what, error.error_description ?? error.error, error);
  }
  const isTimeout =
    (error instanceof openid.ClientError && error.code === 'OAUTH_TIMEOUT') || error instanceof joseErrors.JWKSTimeout;
  const isRefusal =
    error instanceof openid.ClientError ||
    error instanceof openid.WWWAuthenticateChallengeError ||
    error instanceof joseErrors.JOSEError;
  if (isRefusal && !isTimeout) return refused(what, causeOf(error), error);
  return new AnnealError('Unavailable', `The OpenID provider does not answer: ${causeOf(error)}.`, { cause: error });
}

const refused = (what: string, why: string, cause?: unknown): AnnealError =>
  new AnnealError('Unauthorized', `The OpenID provider or its token was refused: ${what}: ${why}.`, { cause });

/** The innermost reason: openid-client wraps it. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
