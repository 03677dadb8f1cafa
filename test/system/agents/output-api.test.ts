/** The output of a running deployment as clients of the gateway follow and download it. */
import { connect } from '@anneal/client/connect.ts';
import type { DeploymentLog } from '@anneal/client/hosts.ts';
import { claimed } from '@anneal/configuration/testing/running-service.ts';
import { runReport } from '@anneal/contracts/output.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAgentWorld, type AgentWorld } from './world.ts';

let world: AgentWorld;
beforeAll(async () => {
  world = await createAgentWorld();
});
afterAll(() => world.dispose());

it('arrives while the config runs, ends with the deployment, and is downloaded byte by byte', async () => {
  const { rig } = world;
  const { host_id } = await world.host('followed');
  const deployment = await world.apply(host_id, 'echo');
  const { request } = await claimed(rig, host_id);
  const authUrl = `${world.url}/identity/v3`;
  const { deployments } = await connect({ authUrl, username: 'admin', password: 'correct horse', project: 'admin' });
  const send = (name: string, offset: number, bytes: Buffer): Promise<unknown> =>
    rig.ask(runReport, { host_id, id: request.id, pieces: [{ name, offset, data: bytes.toString('base64') }] });

  const signal = AbortSignal.timeout(20_000);
  const entries = deployments.logs({ deployment, follow: true, signal })[Symbol.asyncIterator]();
  const next = async (): Promise<DeploymentLog> => {
    const { value, done } = await entries.next();
    if (done === true) throw new Error('the stream ended early');
    return value;
  };
  expect(await next()).toMatchObject({ kind: 'state', status: 'IN_PROGRESS' });
  const binary = Buffer.from([0xff, 0, 10]);
  await send('stdout', 0, Buffer.from('one\n'));
  expect(await next()).toEqual({ kind: 'output', stream: 'stdout', bytes: new Uint8Array(Buffer.from('one\n')) });
  await send('stdout', 4, binary);
  expect(await next()).toEqual({ kind: 'output', stream: 'stdout', bytes: new Uint8Array(binary) });
  await rig.post(host_id, { id: request.id, status_code: 0, stderr: 'in the answer\n' });
  // The state and the stream that only the answer has.
  const rest: DeploymentLog[] = [];
  for (let entry = await next(); ; entry = await next()) {
    rest.push(entry);
    if (entry.kind === 'end') break;
  }
  expect(rest).toContainEqual({
    kind: 'output',
    stream: 'stderr',
    bytes: new Uint8Array(Buffer.from('in the answer\n')),
  });
  expect(rest.at(-1)).toMatchObject({ kind: 'end', status: 'COMPLETE' });

  const pieces: Uint8Array[] = [];
  for await (const piece of deployments.download({ deployment, name: 'stdout' })) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(Buffer.concat([Buffer.from('one\n'), binary]));
  const missing = deployments.download({ deployment, name: 'outputs.none' })[Symbol.asyncIterator]();
  await expect(missing.next()).rejects.toThrow(/Nothing is stored of outputs\.none/);
});
