/** Several requests at once: their order, their end, and their answers with the next claim. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from './testing/fixture.ts';
import { startAgent, type Agent } from './start.ts';

let server: StandIn;
let directory: string;
let agents: Agent[];

beforeEach(async () => {
  server = await new StandIn().start();
  server.takesAnswers = true;
  directory = temporaryFolder();
  agents = [];
});
afterEach(async () => {
  for (const agent of agents) agent.kill();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const trace = (): string => join(directory, 'trace');
const traced = (): string[] => readFileSync(trace(), 'utf8').split('\n').filter(Boolean);
const step = (name: string, more = '') => scriptRequest(`echo ${name} >>${trace()}; ${more}`);
const start = async (): Promise<Agent> => {
  const agent = await startAgent(agentOptions(server, directory));
  agents.push(agent);
  return agent;
};
const answeredAll = (count: number) =>
  until(() => new Set(server.responses.map(({ id }) => id)).size >= count, `${count} answers`);
const claims = (): number => server.calls.filter((call) => call === 'POST host.h1.requests/claims').length;

it('A1: a list of configs runs in order, and its answers go with the next claim', async () => {
  const requests = ['a', 'b', 'c', 'd'].map((name) => step(name));
  for (const request of requests) server.offer(request as never);
  await start();
  await answeredAll(4);
  expect(traced()).toEqual(['a', 'b', 'c', 'd']);
  expect(server.responses.map(({ id }) => id)).toEqual(requests.map(({ id }) => id));
  expect(server.pending).toBe(0);
  expect(server.calls).not.toContain('DELETE host.h1.requests/messages');
  // A slow machine may need more than the time in which the agent may start a config of a batch.
  expect(claims()).toBeLessThanOrEqual(4);
});

it('A5: after a failed config the agent claims the others again, so that the server can withdraw them', async () => {
  const [first, failing, next] = [step('a'), step('b', 'exit 3'), step('c')];
  for (const request of [first, failing, next]) server.offer(request as never);
  const answers = () => server.responses.map(({ status_code }) => status_code);
  const withdrawing = until(() => {
    if (!answers().includes(3)) return false;
    server.withdraw(next.id);
    return true;
  });
  // The server takes the answers before it hands out the next request, so the withdrawal is in time.
  server.holdAfterAnswers = withdrawing;
  await start();
  await withdrawing;
  const last = step('d');
  server.offer(last as never);
  await until(() => server.responses.some(({ id }) => id === last.id), 'the answer of the last config');
  expect(traced()).toEqual(['a', 'b', 'd']);
});

it('A5: a config that reports an error by an output ends the batch, too', async () => {
  const failing = {
    ...step('a', 'printf broken >$heat_outputs_path.problem'),
    outputs: [{ name: 'problem', type: 'String', error_output: true }],
  };
  const next = step('b');
  for (const request of [failing, next]) server.offer(request as never);
  const withdrawing = until(() => {
    if (server.responses.length === 0) return false;
    server.withdraw(next.id);
    return true;
  });
  server.holdAfterAnswers = withdrawing;
  await start();
  await withdrawing;
  const last = step('c');
  server.offer(last as never);
  await until(() => server.responses.some(({ id }) => id === last.id), 'the answer of the last config');
  expect(traced()).toEqual(['a', 'c']);
});

it('A2: a restart within a batch loses nothing and runs nothing twice', async () => {
  const go = join(directory, 'go');
  const requests = [step('a'), step('b', `while [ ! -e ${go} ]; do sleep 0.05; done`), step('c')];
  for (const request of requests) server.offer(request as never);
  await start();
  await until(() => server.progress.length > 0, 'the start of the second config');
  await agents[0]?.stop();
  writeFileSync(go, '');
  await start();
  await answeredAll(3);
  expect(traced()).toEqual(['a', 'b', 'c']);
  expect([...new Set(server.responses.map(({ id }) => id))]).toEqual(requests.map(({ id }) => id));
});

it('answers that the server refuses together are posted one by one', async () => {
  const requests = [step('a'), step('b')];
  for (const { id } of requests.slice(0, 1)) server.refused.add(id);
  for (const request of requests) server.offer(request as never);
  await start();
  await answeredAll(2);
  await until(() => server.pending === 0, 'the removal of the requests');
  expect(server.responses.map(({ id }) => id)).toEqual(requests.map(({ id }) => id));
  expect(traced()).toEqual(['a', 'b']);
});
