import { describe, expect, it } from 'vitest';
import {
  brokerUserOf,
  hostOfBrokerUser,
  hostOfExchange,
  hostOfSubject,
  mayReplyTo,
  natsPlaces,
  natsRights,
  rabbitPlaces,
  rabbitRights,
} from './rights.ts';

const id = '7d1c7d2e-52a2-4c53-9a3e-6a7d6f2b7a10';
const strange = ['', '.*', 'a.b', 'a|b', '>', '*', 'a b', 'ä', 'a/b', '^', '$', 'x'.repeat(65), 'a\nb'];

describe('the rights of a host on RabbitMQ', () => {
  const { configure, write, read } = rabbitRights(rabbitPlaces('p.', id));

  it('R1: read its queue and write its exchange, and match no longer, shorter or similar name', () => {
    const names = [`p.host.${id}.requests`, `p.host.${id}.responses`, 'anneal.hosts.responses', 'amq.default', ''];
    const similar = names.flatMap((name) => [
      name,
      `${name}x`,
      `x${name}`,
      name.slice(1),
      name.replaceAll('.', '-'),
      `${name}\n`,
    ]);
    expect(similar.filter((name) => new RegExp(read).test(name))).toEqual([`p.host.${id}.requests`]);
    expect(similar.filter((name) => new RegExp(write).test(name))).toEqual([`p.host.${id}.responses`]);
  });

  it('R2: configure nothing', () => {
    expect(new RegExp(configure).test(`p.host.${id}.requests`)).toBe(false);
  });

  it('are found again from the exchange of a message, and from no other exchange', () => {
    expect(hostOfExchange('p.', `p.host.${id}.responses`)).toBe(id);
    const others = [
      '',
      'p.host..responses',
      `host.${id}.responses`,
      `p.host.${id}.requests`,
      `p.host.${id}.responses.x`,
      'p.host.a.b.responses',
    ];
    expect(others.map((exchange) => hostOfExchange('p.', exchange))).toEqual(others.map(() => undefined));
  });
});

describe('the rights of a host on NATS', () => {
  const places = natsPlaces('anneal', id);

  it('R1: publish answers, and subscribe to its requests and its replies', () => {
    expect(natsRights(places)).toEqual({
      pub: { allow: [`anneal.hosts.${id}.responses`] },
      sub: { allow: [`anneal.hosts.${id}.requests`, `_INBOX.host-${id}.>`] },
      subs: 8,
    });
  });

  it('are found again from the subject of a message, and from no other subject', () => {
    expect(hostOfSubject('anneal', places.responses)).toBe(id);
    const others = [
      '',
      `anneal.hosts.${id}.requests`,
      `x.hosts.${id}.responses`,
      'anneal.hosts..responses',
      `anneal.hosts.${id}.responses.x`,
    ];
    expect(others.map((subject) => hostOfSubject('anneal', subject))).toEqual(others.map(() => undefined));
  });

  it('allow replies only below its own inbox', () => {
    expect(mayReplyTo(places, `${places.inbox}.abc.1`)).toBe(true);
    const others = [
      undefined,
      '',
      places.inbox,
      `${places.inbox}x.1`,
      `${places.inbox}.>`,
      `${places.inbox}.*`,
      places.requests,
      '_INBOX.1',
    ];
    expect(others.filter((reply) => mayReplyTo(places, reply))).toEqual([]);
  });
});

it.each(strange)('R3: the id %j gets no rights', (host) => {
  const refused = { code: 'InvalidRequest' };
  expect(() => rabbitPlaces('', host)).toThrow(expect.objectContaining(refused) as Error);
  expect(() => natsPlaces('anneal', host)).toThrow(expect.objectContaining(refused) as Error);
  expect(() => brokerUserOf(host)).toThrow(expect.objectContaining(refused) as Error);
  expect(hostOfBrokerUser(`anneal.host.${host}`)).toBeUndefined();
});

it('the user of a host names the host', () => {
  expect(hostOfBrokerUser(brokerUserOf(id))).toBe(id);
  expect(hostOfBrokerUser(id)).toBeUndefined();
});
