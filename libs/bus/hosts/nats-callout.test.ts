import { nkeys } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { CalloutSigner, readCallout } from './nats-callout.ts';
import { natsPlaces, natsRights } from './rights.ts';

const key = nkeys.createAccount();
const signer = new CalloutSigner(new TextDecoder().decode(key.getSeed()));
const now = new Date('2026-01-01T00:00:00Z');
const question = { userKey: 'UABC', serverId: 'NABC', user: 'anneal.host.h', password: 'secret' };

const token = (claims: unknown): string => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;

/** The claims of a token whose signature is valid. */
function verified(text: string): Record<string, unknown> {
  const [head = '', claims = '', signature = ''] = text.split('.');
  const signed = new TextEncoder().encode(`${head}.${claims}`);
  expect(key.verify(signed, new Uint8Array(Buffer.from(signature, 'base64url')))).toBe(true);
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
}

describe('an answer to the authorization callout', () => {
  it('accepts with a signed user that has exactly the rights of the host', () => {
    const rights = natsRights(natsPlaces('anneal', 'h'));
    const answer = verified(signer.accept(question, { account: 'HOSTS', rights, now }));
    expect(answer).toMatchObject({ aud: 'NABC', sub: 'UABC', iss: key.getPublicKey(), iat: 1_767_225_600 });
    const { jwt, error } = answer['nats'] as { jwt: string; error?: string };
    expect(error).toBeUndefined();
    const user = verified(jwt);
    expect(user).toMatchObject({ aud: 'HOSTS', sub: 'UABC', name: 'anneal.host.h' });
    expect(user['nats']).toEqual({ ...rights, data: -1, payload: -1, type: 'user', version: 2 });
  });

  it('refuses without a user', () => {
    const { nats } = verified(signer.refuse(question, { error: 'no', now })) as { nats: object };
    expect(nats).toEqual({ error: 'no', type: 'authorization_response', version: 2 });
  });
});

describe('a question of the authorization callout', () => {
  it('names the connection, the server and the credentials', () => {
    const nats = { server_id: { id: 'NABC' }, user_nkey: 'UABC', connect_opts: { user: 'u', pass: 'p' } };
    expect(readCallout(token({ nats }))).toEqual({ userKey: 'UABC', serverId: 'NABC', user: 'u', password: 'p' });
    expect(readCallout(token({ nats: { ...nats, connect_opts: { user: 7 } } }))).toMatchObject({
      user: '',
      password: '',
    });
  });

  it.each(['', 'x', 'a.b.c', token(null), token([]), token({ nats: { user_nkey: 'U' } })])('%j is none', (text) => {
    expect(readCallout(text)).toBeUndefined();
  });
});

it.each(['', 'secret', new TextDecoder().decode(nkeys.createUser().getSeed())])(
  'refuses %j as the key, and never shows it',
  (seed) => {
    const make = (): unknown => new CalloutSigner(seed);
    expect(make).toThrow('ANNEAL_CONFIGURATION_HOST_BROKER_KEY');
    if (seed !== '') expect(make).not.toThrow(seed);
  },
);
