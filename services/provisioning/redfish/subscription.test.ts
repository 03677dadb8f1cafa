import { describe, expect, it } from 'vitest';
import { BmcError } from '../bmc/bmc-error.ts';
import { nodeGone } from '../bmc/port.ts';
import type { Answer } from './conversation/http.ts';
import { holdSubscription, subscriptionFor } from './subscription.ts';

const at = '/redfish/v1/EventService/Subscriptions';
const service = { EventFormatTypes: ['Event'], Subscriptions: { '@odata.id': at } };
const destination = 'http://gateway/bmc/v1/mac/address';

interface Known {
  Destination: unknown;
  Status?: { State: string };
}

/** A BMC with subscriptions. */
class Bmc {
  readonly known = new Map<string, Known>();
  readonly sent: string[] = [];
  isAway = false;
  refuses = false;
  namesLocation = true;

  readonly send = async ({ method, path, body }: { method: string; path: string; body?: unknown }): Promise<Answer> => {
    this.sent.push(`${method} ${path}`);
    const details = { status: 404 };
    if (this.isAway) throw new BmcError('BmcUnreachable', 'no answer', { repeat: 'always', details: {} });
    let answer: Partial<Answer> = { body: {} };
    if (method === 'POST') {
      if (this.refuses) throw new BmcError('BmcRefused', 'no place', { repeat: 'never', details: { status: 503 } });
      const made = `${at}/${this.known.size + 1}`;
      this.known.set(made, body as Known);
      if (this.namesLocation) answer = { body: {}, location: made };
    } else if (path === at) {
      answer = { body: { Members: [...this.known.keys()].map((id) => ({ '@odata.id': id })) } };
    } else {
      const found = this.known.get(path);
      if (!found) throw new BmcError('BmcRefused', 'not found', { repeat: 'never', details });
      if (method === 'DELETE') this.known.delete(path);
      answer = { body: { ...found } };
    }
    return answer as Answer;
  };

  /** Holds a subscription, and calls `checked` at each check with the number of the check. */
  async hold(checked: (check: number, end: AbortController) => void): Promise<boolean> {
    const end = new AbortController();
    let checks = 0;
    const send: typeof this.send = async (sending) => {
      if (sending.method === 'GET' && sending.path !== at && this.known.has(sending.path)) {
        const answer = await this.send(sending);
        checks += 1;
        checked(checks, end);
        return answer;
      }
      return this.send(sending);
    };
    const options = { service, destination, signal: end.signal, onOpen: () => undefined, everyMs: 1 };
    return holdSubscription(send, options);
  }
}

describe('a subscription to the events of a BMC', () => {
  it('P1: takes over the one that an earlier process made', async () => {
    const bmc = new Bmc();
    bmc.known.set(`${at}/7`, { Destination: 'http://other' });
    bmc.known.set(`${at}/8`, { Destination: destination });
    expect(await bmc.hold((check, end) => check === 4 && end.abort())).toBe(true);
    expect([...bmc.known.keys()]).toEqual([`${at}/7`, `${at}/8`]);
  });

  it('P2: ends when the BMC has lost it, and replaces one that the BMC suspended', async () => {
    const bmc = new Bmc();
    bmc.namesLocation = false;
    expect(await bmc.hold((check) => check === 3 && bmc.known.clear())).toBe(true);
    bmc.known.set(`${at}/9`, { Destination: destination, Status: { State: 'Disabled' } });
    expect(await bmc.hold((check, end) => check === 3 && end.abort())).toBe(true);
    expect([...bmc.known]).toEqual([[`${at}/1`, expect.objectContaining({ Destination: destination })]]);
  });

  it('P2: keeps it while the BMC does not answer', async () => {
    const bmc = new Bmc();
    const end = new AbortController();
    let misses = 0;
    const send: typeof bmc.send = (sending) => {
      if (bmc.isAway && (misses += 1) === 5) end.abort();
      return bmc.send(sending).finally(() => (bmc.isAway = bmc.known.size > 0));
    };
    const options = { service, destination, signal: end.signal, onOpen: () => undefined, everyMs: 1 };
    expect(await holdSubscription(send, options)).toBe(true);
    expect(misses).toBe(5);
  });

  it('P3: is deleted with the last node of the address, and not at the stop of the service', async () => {
    const bmc = new Bmc();
    expect(await bmc.hold((check, end) => check === 2 && end.abort(new Error('stopping')))).toBe(true);
    expect(bmc.known.size).toBe(1);
    expect(await bmc.hold((check, end) => check === 3 && end.abort(nodeGone))).toBe(true);
    expect(bmc.known.size).toBe(0);
  });

  it('is none where the BMC offers none, or has no place for it', async () => {
    const bmc = new Bmc();
    bmc.refuses = true;
    expect(await bmc.hold(() => undefined)).toBe(false);
    const none = { service: {}, destination, signal: new AbortController().signal, onOpen: () => undefined };
    expect(await holdSubscription(bmc.send, none)).toBe(false);
  });
});

it('a subscription names the types of events only for services from before 2018, which require them', () => {
  const types = ['StatusChange', 'Alert'];
  const common = { Destination: destination, Protocol: 'Redfish', Context: 'Anneal' };
  expect(subscriptionFor({ EventTypesForSubscription: types }, destination)).toEqual({ ...common, EventTypes: types });
  const newer = { EventTypesForSubscription: types, EventFormatTypes: ['Event', 'MetricReport'] };
  expect(subscriptionFor(newer, destination)).toEqual({ ...common, EventFormatType: 'Event' });
});
