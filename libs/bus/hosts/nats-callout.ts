/**
 * The tokens of NATS's authorization callout: the server asks whether a client may connect, and the answer holds a signed
 * user with its permissions. Pure, except that the key signs.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { nkeys } from '@nats-io/transport-node';
import type { natsRights } from './rights.ts';

/** The part of a question that decides. */
export interface CalloutQuestion {
  /** The key of the connection, which the answer has to name. */
  readonly userKey: string;
  readonly serverId: string;
  readonly user: string;
  readonly password: string;
}

const encode = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const part = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** Reads the question of a server. Undefined for another message. The server's own account is the only sender. */
export function readCallout(token: string): CalloutQuestion | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Json;
    const nats = part(part(claims)['nats']);
    const options = part(nats['connect_opts']);
    const question = {
      userKey: text(nats['user_nkey']),
      serverId: text(part(nats['server_id'])['id']),
      user: text(options['user']),
      password: text(options['pass']),
    };
    return question.userKey === '' || question.serverId === '' ? undefined : question;
  } catch {
    return undefined;
  }
}

/** Signs the answers to a server. */
export class CalloutSigner {
  readonly #key: ReturnType<typeof nkeys.fromSeed>;

  /** @throws AnnealError InvalidRequest for a text that is no seed of an account */
  constructor(seed: string) {
    try {
      this.#key = nkeys.fromSeed(new TextEncoder().encode(seed.trim()));
      if (this.#key.getPublicKey().startsWith('A')) return;
    } catch {
      // The message below must not show the seed.
    }
    throw new AnnealError(
      'InvalidRequest',
      'ANNEAL_CONFIGURATION_HOST_BROKER_KEY must be the seed of an account key of NATS (SA…): nsc generate nkey --account.',
    );
  }

  /** Lets the client in, with these rights in the account. */
  accept(
    question: CalloutQuestion,
    { account, rights, now }: { account: string; rights: ReturnType<typeof natsRights>; now: Date },
  ): string {
    const user = this.#sign(now, {
      aud: account,
      name: question.user,
      sub: question.userKey,
      nats: { ...rights, data: -1, payload: -1, type: 'user', version: 2 },
    });
    return this.#answer(question, { now, more: { jwt: user } });
  }

  refuse(question: CalloutQuestion, { error, now }: { error: string; now: Date }): string {
    return this.#answer(question, { now, more: { error } });
  }

  #answer({ userKey, serverId }: CalloutQuestion, { now, more }: { now: Date; more: JsonObject }): string {
    const nats = { ...more, type: 'authorization_response', version: 2 };
    return this.#sign(now, { aud: serverId, sub: userKey, nats });
  }

  #sign(now: Date, claims: JsonObject): string {
    const issued = { ...claims, jti: crypto.randomUUID(), iat: Math.floor(now.getTime() / 1000) };
    const body = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode({ ...issued, iss: this.#key.getPublicKey() })}`;
    return `${body}.${Buffer.from(this.#key.sign(new TextEncoder().encode(body))).toString('base64url')}`;
  }
}
