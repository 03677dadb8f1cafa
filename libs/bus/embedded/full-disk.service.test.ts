import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BrokerOffer } from '../broker.ts';
import { silent } from '../conformance/messages.ts';
import { EmbeddedBroker } from './broker.ts';
import { Database } from './database.ts';

/** E4, with the error of a full disk: SQLite may not add pages. */
describe('the embedded broker on a full disk', () => {
  let database: Database;
  let broker: EmbeddedBroker;
  const fill = (): void => {
    const pages = Number(database.get('PRAGMA page_count')?.['page_count']);
    database.get(`PRAGMA max_page_count = ${pages}`);
  };
  const free = (): void => void database.get('PRAGMA max_page_count = 1000000');
  const packet = (text: string) => ({ type: 'test', bytes: text });
  const large = 'x'.repeat(200_000);

  beforeEach(() => {
    database = new Database({ file: ':memory:', synchronous: 'normal' });
    broker = new EmbeddedBroker({ database, now: () => new Date(), log: silent });
  });
  afterEach(async () => {
    free();
    await broker.close();
  });

  it('E4: senders and new consumers receive the error, and no trace of the failed writes remains', async () => {
    const offers: BrokerOffer[] = [];
    const intake = { concurrency: 4, offer: (offer: BrokerOffer) => void offers.push(offer) };
    fill();
    const refused = await Promise.allSettled([
      broker.send({ queue: 'new', packets: [packet(large)] }),
      broker.consume('new', intake),
      broker.subscribe({ patterns: ['#'], group: 'new' }, intake),
      broker.check(),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    free();
    expect(await broker.queues.list()).toEqual([]);
    await broker.subscribe({ patterns: ['#'], group: 'new' }, intake);
    await broker.send({ queue: 'new', packets: [packet('after')] });
    await broker.publish([packet('event')]);
    await vi.waitFor(() => expect(offers.map(({ bytes }) => bytes)).toEqual(['event']));
    expect(database.get('SELECT patterns FROM queues WHERE grouped = 1')).toMatchObject({ patterns: '["#"]' });
  });

  it('E4: settlements are kept until they can be written, and waiting messages continue in order', async () => {
    const offers: BrokerOffer[] = [];
    await broker.consume('q', { concurrency: 2, offer: (offer) => void offers.push(offer) });
    await broker.send({ queue: 'q', packets: ['1', '2', '3', '4'].map(packet) });
    await vi.waitFor(() => expect(offers).toHaveLength(2));
    fill();
    const settled = Promise.all(offers.map((offer) => offer.settle({ kind: 'done' })));
    await expect(broker.send({ queue: 'q', packets: [packet(large)] })).rejects.toMatchObject({ code: 'Unavailable' });
    free();
    await settled;
    await vi.waitFor(() => expect(offers.map(({ bytes }) => bytes)).toEqual(['1', '2', '3', '4']));
    for (const offer of offers.slice(2)) await offer.settle({ kind: 'done' });
    expect(await broker.queues.measure('q')).toMatchObject({ depth: 0, inFlight: 0 });
  });
});
