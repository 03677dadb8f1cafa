/** A tree like an overcloud on machines of the lab: its deployments run there, and their results are values of the tree. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compare } from '../tree/compare.ts';
import { clientReader, treeRequest, treeSettings } from '../tree/over-http.ts';
import { overcloud, type Tree } from '../tree/overcloud.ts';
import { small, stateOf } from '../tree/state.ts';
import { deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 2, env: treeSettings });
});
afterAll(() => server?.dispose());

const name = 'tree';
const limitMs = 180_000;

async function reached(status: string, { expected }: Tree): Promise<void> {
  const { id, stack_status: found, stack_status_reason: reason } = await settled(server, name, limitMs);
  expect(found, reason ?? '').toBe(status);
  const reader = clientReader(() => server.client);
  expect((await compare(reader, id, { expected, masks: true })).faults).toEqual([]);
}

describe('a tree with deployments on machines', () => {
  it('has every value right after its creation and after a change of what the deployments get', async () => {
    const state = stateOf(small, { machines: true });
    const before = overcloud(state);
    await server.client.stacks.create({ name, ...treeRequest(before) });
    await reached('CREATE_COMPLETE', before);

    const after = overcloud({ ...state, password: 'hush-second', domain: 'example.net' });
    await server.client.stacks.update({ stack: name, ...treeRequest(after) });
    await reached('UPDATE_COMPLETE', after);
    await server.client.stacks.delete({ stack: name });
    await deleted(server, name, limitMs);
  });
});
