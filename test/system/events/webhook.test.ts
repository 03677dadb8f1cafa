import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyWebhook } from '@anneal/client/webhook.ts';

const event = {
  specversion: '1.0',
  id: 'e1',
  type: 'host.up',
  source: 'anneal/configuration',
  time: '2030-01-01T00:00:00.000Z',
  correlationid: 'c',
  data: { host_id: 'h' },
};
const now = Date.parse('2030-01-01T00:00:10.000Z');
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const [secret, other] = [newSecret(), newSecret()];

/** Signed by the library that the standard publishes. */
function request(body: string, { at = now, by = [secret] }: { at?: number; by?: string[] } = {}) {
  const signature = by.map((each) => new Webhook(each).sign('m1', new Date(at), body)).join(' ');
  const headers = {
    'Webhook-Id': 'm1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': signature,
  };
  return { body, headers, now };
}
const body = JSON.stringify(event);

describe('verifyWebhook', () => {
  it('returns the event, or the events of a batch, of a request that the standard library signed', () => {
    expect(verifyWebhook({ ...request(body), secrets: secret })).toEqual([event]);
    const batch = JSON.stringify([event, { ...event, id: 'e2' }]);
    expect(verifyWebhook({ ...request(batch), secrets: secret }).map(({ id }) => id)).toEqual(['e1', 'e2']);
    const { headers, ...rest } = request(body);
    expect(verifyWebhook({ ...rest, headers: new Headers(headers), secrets: secret })).toEqual([event]);
    expect(verifyWebhook({ ...request(body), body: Buffer.from(body), secrets: secret })).toEqual([event]);
  });

  it('accepts either secret during a rotation, in the request and in the listener', () => {
    expect(verifyWebhook({ ...request(body, { by: [other, secret] }), secrets: secret })).toEqual([event]);
    expect(verifyWebhook({ ...request(body, { by: [other] }), secrets: [secret, other] })).toEqual([event]);
  });

  it('refuses another secret, body, id, time or form', () => {
    const right = { ...request(body), secrets: secret };
    const refused = (change: object): void => {
      expect(() => verifyWebhook({ ...right, ...change })).toThrow(expect.objectContaining({ code: 'Unauthorized' }));
    };
    refused({ secrets: other });
    refused({ body: `${body} ` });
    refused({ headers: { ...right.headers, 'Webhook-Id': 'm2' } });
    refused({ headers: { ...right.headers, 'webhook-signature': '' } });
    refused({ headers: { ...right.headers, 'webhook-signature': 'v2,AAAA' } });
    refused({ headers: {} });
    refused({ now: now + 301_000 });
    refused({ now: now - 301_000 });
    refused({ headers: { ...right.headers, 'webhook-timestamp': 'soon' } });
    expect(verifyWebhook({ ...right, now: now + 301_000, toleranceSeconds: 600 })).toHaveLength(1);
  });

  it('refuses a secret in another form, and a signed body that is no event', () => {
    expect(() => verifyWebhook({ ...request(body), secrets: 'whsec_short' })).toThrow('whsec_');
    expect(() => verifyWebhook({ ...request('{}'), secrets: secret })).toThrow('neither a CloudEvent');
    expect(() => verifyWebhook({ ...request('no json'), secrets: secret })).toThrow('neither a CloudEvent');
  });
});
