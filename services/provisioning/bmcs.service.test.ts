import { setTimeout as sleep } from 'node:timers/promises';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Bmcs } from './bmcs.ts';
import type { NodeDocument } from './documents/node.ts';

const node = {
  id: 'n1',
  name: 'n1',
  driver: 'redfish',
  address: 'http://127.0.0.1:1',
  system_id: '/redfish/v1/Systems/1',
  username: null,
  password: null,
  verify_ca: null,
  identity: null,
  foreign: null,
  fault: null,
  work: null,
} as NodeDocument;

describe('a turn at a BMC', () => {
  let context: TestContext;
  let bmcs: Bmcs;
  beforeEach(async () => {
    context = await createTestContext({ name: 'provisioning' });
    bmcs = new Bmcs({
      records: { get: () => Promise.resolve(undefined), change: () => Promise.resolve(undefined) },
      secrets: context.secrets,
      trust: 'true',
      placeholders: new Set(),
      gatewayUrl: 'http://gateway',
      now: () => Date.now(),
    });
  });
  afterEach(async () => {
    await bmcs.close();
    await context.dispose();
  });
  const pausing = (withinMs: number): Promise<unknown> =>
    bmcs.with(node, (_machine, signal) => sleep(60_000, undefined, { signal }), { withinMs });

  it('B1: that is over during a pause is a failure that names the BMC and the time', async () => {
    await expect(pausing(50)).rejects.toMatchObject({
      code: 'BmcUnreachable',
      message: 'The BMC of node n1 at http://127.0.0.1:1 did not complete the request within 0.1 s.',
    });
  });

  it('B2: that is cut during a pause ends with the reason of the cut', async () => {
    const reason = new Error('not wanted any more');
    const ended = expect(pausing(60_000)).rejects.toBe(reason);
    bmcs.cut(node.id, reason);
    await ended;
  });
});
