import { describe, expect, it } from 'vitest';
import { matcherOf } from '../pattern.ts';
import { filtersFor } from './filters.ts';
import { createNames, nameOfSubject, subjectToken } from './names.ts';
import { readNatsUrl } from './url.ts';

const names = createNames('anneal');

describe('names on NATS', () => {
  it.each(['host.3f-1.requests', 'a b', 'a*.>', 'a..b', '.', 'häuser.ok', 'a_b.c', 'a=2Eb', 'a/b\\c'])(
    '%s can be decoded again and contains no character that NATS forbids',
    (queue) => {
      const { subject, durable } = names.address(queue);
      expect(names.queueOfSubject(subject)).toBe(queue);
      expect(nameOfSubject(durable)).toBe(queue);
      expect(durable).toMatch(/^[A-Za-z0-9=_-]+$/);
      expect(subject).toMatch(/^anneal\.[qr](\.[A-Za-z0-9=-]+)+$/);
    },
  );

  it('queues with different names never share a consumer', () => {
    const queues = ['a.b', 'a_b', 'a=b', 'a..b', 'a.=.b', 'a._b', 'a=5Fb'];
    expect(new Set(queues.map(subjectToken)).size).toBe(queues.length);
  });

  it('responses have their own stream, and groups are consumers of the event stream', () => {
    expect(names.address('host.x.responses').stream).toBe('anneal-responses');
    expect(names.address('host.x.requests').stream).toBe('anneal-requests');
    expect(names.address('events.provisioning')).toMatchObject({
      stream: 'anneal-events',
      subject: 'anneal.g.provisioning',
    });
  });
});

describe('patterns as subjects', () => {
  const covers = (filter: string, subject: string): boolean => {
    const pattern = filter.split('.').map((word) => (word === '*' ? '[^.]+' : word === '>' ? '.+' : word));
    return new RegExp(`^${pattern.join('\\.')}$`).test(subject);
  };

  it.each([
    ['stack.#'],
    ['*.*.failed'],
    ['#.failed'],
    ['a.#.b'],
    ['#'],
    ['a.b', 'a.*'],
    ['stack.#', 'stack.create.*'],
    ['a.#', 'b'],
  ])('%s: exactly one filter covers each matching subject', (...patterns) => {
    const filters = filtersFor(patterns, '');
    const matches = matcherOf(patterns);
    for (const type of [
      'a',
      'b',
      'a.b',
      'a.x.b',
      'stack',
      'stack.create',
      'stack.create.failed',
      'failed',
      'x.failed',
    ]) {
      const covering = filters.filter((filter) => covers(filter, type));
      expect(covering.length).toBeLessThanOrEqual(1);
      if (matches(type)) expect(covering).toHaveLength(1);
    }
  });
});

describe('the NATS URL', () => {
  it('carries servers, credentials, prefix and replicas', async () => {
    expect(await readNatsUrl('nats://user:p%40ss@one:4222,two?prefix=x&replicas=3')).toMatchObject({
      prefix: 'x',
      replicas: 3,
      connection: { servers: ['one:4222', 'two'], user: 'user', pass: 'p@ss' },
    });
    expect((await readNatsUrl('nats://secret@one')).connection).toMatchObject({ token: 'secret' });
    expect((await readNatsUrl('tls://one')).connection).toMatchObject({ tls: {} });
  });

  it('is refused with all its mistakes and without its password', async () => {
    const refused = readNatsUrl('nats://user:secret@/?prefix=a.b&replicas=9&wrong=1&creds=/nowhere');
    await expect(refused).rejects.toMatchObject({ code: 'InvalidRequest' });
    const text = await refused.catch((error: unknown) => String(error));
    for (const word of ['prefix', 'replicas', 'wrong', 'creds', 'host']) expect(text).toContain(word);
    expect(text).not.toContain('secret');
  });
});
