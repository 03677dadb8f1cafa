import { describe, expect, it } from 'vitest';
import { readSinkAddress, shownAddress } from './sink-address.ts';

const read = (url: string, credentials?: string) => readSinkAddress(url, { allowPrivate: false, credentials });

describe('the address of a sink', () => {
  it('names a webhook, a queue, an exchange or a subject', () => {
    expect(read('https://ops.example/hook')).toEqual({ kind: 'webhook', host: 'ops.example' });
    expect(read('queue:audit?ttl=60')).toEqual({ kind: 'queue', queue: 'audit', ttl: 60 });
    expect(read('queue:audit')).toMatchObject({ ttl: 3600 });
    expect(read('amqps://broker.example/my%2Fvhost?exchange=events', 'bill%40x:p%3Aw')).toEqual({
      kind: 'amqp',
      broker: {
        host: 'broker.example',
        port: 5671,
        isSecure: true,
        credentials: { user: 'bill@x', password: 'p:w' },
      },
      vhost: 'my/vhost',
      exchange: 'events',
      routingKey: '{type}',
    });
    expect(read('nats://broker.example:4333?subject=out.{type}&ack=none')).toEqual({
      kind: 'nats',
      broker: { host: 'broker.example', port: 4333, isSecure: false, credentials: undefined },
      subject: 'out.{type}',
      confirmation: 'none',
    });
  });

  it('is refused with every mistake, and never shows credentials', () => {
    const refusal = (url: string, credentials?: string): string => {
      try {
        read(url, credentials);
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    const broker = refusal('amqp://user:secret@127.0.0.1/v?ca=/etc/shadow');
    for (const part of [
      '`ca` is not a parameter',
      '`exchange` is missing',
      'not a public address',
      'user or password',
    ]) {
      expect(broker).toContain(part);
    }
    expect(broker).not.toContain('secret');
    expect(refusal('nats://b.example?subject=$JS.API.>&ack=maybe')).toMatch(/`subject` must be words.*`ack` must be/);
    expect(refusal('queue:../other?ttl=0')).toMatch(/name of a queue.*`ttl`/);
    expect(refusal('https://ops.example/', 'a:b')).toContain('only a broker takes credentials');
    expect(refusal('ftp://ops.example/')).toContain('not with ftp:');
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '169.254.169.254']) {
      expect(refusal(`nats://${host}?subject=a`)).toContain('not a public address');
    }
  });

  it('is shown without its parameters', () => {
    expect(shownAddress('amqp://broker.example:5673/v?exchange=e')).toBe('amqp://broker.example:5673');
    expect(shownAddress('queue:audit?ttl=60')).toBe('queue:audit');
  });
});
