import { expect, it } from 'vitest';
import { BmcError } from '../../bmc/bmc-error.ts';
import { changeDocument } from './change-document.ts';
import type { RedfishAnswer } from './transport.ts';

const answer = (etag?: string): RedfishAnswer => ({
  status: 200,
  body: {},
  problem: undefined,
  etag,
  location: undefined,
  retryAfterMs: undefined,
  token: undefined,
});

/** A controller that shows this tag, and answers a change that names a tag with a status. */
function controller(shown: string | undefined, statusOf: (tag: string | undefined) => number) {
  const sent: (string | undefined)[] = [];
  const patch = async (_path: string, _body: unknown, tag?: string): Promise<RedfishAnswer> => {
    sent.push(tag);
    const status = statusOf(tag);
    if (status < 300) return answer();
    throw new BmcError('BmcRefused', `it answered ${status}`, { repeat: 'never', details: { status } });
  };
  return { sent, client: { get: async () => answer(shown), patch } };
}

it('T1: sends the strong form of a weak tag, and at last none, while the document is unchanged', async () => {
  const weak = controller('W/"1"', (tag) => (tag === '"1"' ? 200 : 412));
  await changeDocument(weak.client, { path: '/x', body: {}, etag: 'W/"1"' });
  expect(weak.sent).toEqual(['W/"1"', '"1"']);
  const none = controller('"1"', (tag) => (tag === undefined ? 200 : 412));
  await changeDocument(none.client, { path: '/x', body: {}, etag: '"1"' });
  expect(none.sent).toEqual(['"1"', undefined]);
});

it('T1: does not change a document that has another version now', async () => {
  const { sent, client } = controller('"2"', () => 412);
  await expect(changeDocument(client, { path: '/x', body: {}, etag: '"1"' })).rejects.toThrow('it answered 412');
  expect(sent).toEqual(['"1"']);
});

it('T2: sends `*` to a controller that requires a tag and shows none', async () => {
  const { sent, client } = controller(undefined, (tag) => (tag === '*' ? 200 : 428));
  await changeDocument(client, { path: '/x', body: {} });
  expect(sent).toEqual([undefined, '*']);
});

it('repeats no other refusal', async () => {
  const { sent, client } = controller('"1"', () => 400);
  await expect(changeDocument(client, { path: '/x', body: {}, etag: '"1"' })).rejects.toThrow('it answered 400');
  expect(sent).toEqual(['"1"']);
});
