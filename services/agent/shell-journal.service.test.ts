/** The change between the full agent and the sh agent of a host. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from './testing/fixture.ts';
import { startAgent, type Agent } from './start.ts';

let server: StandIn;
let directory: string;
let journal: string;
const agents: Agent[] = [];

beforeEach(async () => {
  server = await new StandIn().start();
  directory = temporaryFolder();
  journal = join(directory, 'requests');
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function start(more: { finishes?: boolean } = {}): Promise<Agent> {
  const agent = await startAgent({ ...agentOptions(server, join(directory, 'full')), shellJournal: journal, ...more });
  agents.push(agent);
  return agent;
}
const ran = (): string => (existsSync(join(directory, 'ran')) ? readFileSync(join(directory, 'ran'), 'utf8') : '');
const writes = (text: string) => scriptRequest(`echo ${text} >>'${join(directory, 'ran')}'`);

it('takes a request that the sh agent answered out of the queue, and reports one that it left behind', async () => {
  const [answered, left, next] = [writes('answered'), writes('left'), writes('next')];
  for (const { id } of [answered, left]) mkdirSync(join(journal, id, 'started'), { recursive: true });
  writeFileSync(join(journal, answered.id, 'answered'), '');
  for (const request of [answered, left, next]) server.offer(request as never);
  await start();
  await until(() => server.responses.some(({ id }) => id === next.id), 'the answer to the new request');
  await until(() => server.pending === 0, 'the empty queue');
  expect(ran()).toBe('next\n');
  expect(server.responses.find(({ id }) => id === left.id)).toMatchObject({ status_code: 125 });
  expect(server.responses.find(({ id }) => id === answered.id)).toBeUndefined();
});

it('finishes what it has begun, takes nothing else, and notes it for the sh agent', async () => {
  const gate = join(directory, 'gate');
  const begun = scriptRequest(
    `echo begun >>'${join(directory, 'ran')}'; until [ -e '${gate}' ]; do sleep 0.05; done; printf 5 >"$heat_outputs_path.result"; exit 3`,
    { outputs: [{ name: 'result', type: 'String' }] },
  );
  const waiting = writes('waiting');
  for (const request of [begun, waiting]) server.offer(request as never);
  const first = await start();
  await until(() => ran() === 'begun\n', 'the start');
  await first.stop();
  const second = await start({ finishes: true });
  writeFileSync(gate, '');
  await second.finished;
  expect(server.responses.map(({ id, status_code }) => ({ id, status_code }))).toEqual([
    { id: begun.id, status_code: 3 },
  ]);
  expect(ran()).toBe('begun\n');
  const folder = join(journal, begun.id);
  expect(['answered', 'started', 'status.3'].filter((name) => !existsSync(join(folder, name)))).toEqual([]);
  expect(readFileSync(join(folder, 'work/output.result'), 'utf8')).toBe('5');
  expect(existsSync(join(journal, waiting.id))).toBe(false);
  expect(server.pending).toBe(1);
});
