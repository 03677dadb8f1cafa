/** Configs that a request only refers to. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from './testing/fixture.ts';
import { startAgent, type Agent } from './start.ts';

let server: StandIn;
let directory: string;
let agent: Agent | undefined;

beforeEach(async () => {
  server = await new StandIn().start();
  server.takesAnswers = true;
  directory = temporaryFolder();
});
afterEach(async () => {
  agent?.kill();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const ran = (): string => join(directory, 'ran');
const start = async (): Promise<void> => {
  agent = await startAgent(agentOptions(server, directory));
};

/** Offers a request that refers to a script of 300 kB. The server sends `sent` in its place. */
function offer(sent?: string) {
  const script = `echo ran >>${ran()}; : ${'ü'.repeat(150_000)}`;
  const bytes = Buffer.from(script);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const request = scriptRequest('', { config_ref: { sha256, size: bytes.byteLength, url: '/agent/v1/config' } });
  server.configs.set(request.id, sent ?? script);
  server.offer(request as never);
  return request;
}
const answerOf = (id: string) => until(() => server.responses.find((each) => each.id === id), 'the answer');
const fetches = (): number => server.calls.filter((call) => call === 'POST config').length;

it('fetches the config, compares its checksum, and runs it', async () => {
  const { id } = offer();
  await start();
  expect((await answerOf(id)).status_code).toBe(0);
  expect(readFileSync(ran(), 'utf8')).toBe('ran\n');
  expect(fetches()).toBe(1);
});

it('F2: never runs a config with another checksum, and reports the difference', async () => {
  const { id, config_ref } = offer(`touch ${ran()}`);
  await start();
  const answer = await answerOf(id);
  expect(answer).toMatchObject({
    status_code: 126,
    error: expect.stringContaining(config_ref?.sha256 ?? '') as string,
  });
  expect(existsSync(ran())).toBe(false);
  expect(fetches()).toBe(3);
});

it('F3: fetches a value that two requests refer to once, and none with another checksum', async () => {
  const text = JSON.stringify({ members: ['ü'.repeat(20_000)] });
  const value_ref = {
    sha256: createHash('sha256').update(text).digest('hex'),
    size: Buffer.byteLength(text),
    url: '/agent/v1/config',
  };
  const refer = (sent: string, more: Partial<typeof value_ref> = {}) => {
    const input = { name: 'context', type: 'Json', value: '', value_ref: { ...value_ref, ...more } };
    const request = scriptRequest(`printf %s "$context" | wc -c >>${ran()}`, { inputs: [input] });
    server.configs.set(`${request.id} context`, sent);
    server.offer(request as never);
    return request.id;
  };
  const [first, second] = [refer(text), refer('another')];
  const wrong = refer(text, { sha256: '0'.repeat(64) });
  await start();
  for (const id of [first, second]) expect((await answerOf(id)).status_code).toBe(0);
  const error = expect.stringContaining('input context has') as string;
  expect(await answerOf(wrong)).toMatchObject({ status_code: 126, error });
  expect(readFileSync(ran(), 'utf8')).toBe(`${value_ref.size}\n`.repeat(2));
  expect(fetches()).toBe(4);
});

it('F1: a death during the fetch loses nothing and runs nothing twice', async () => {
  server.faults = [];
  const { id } = offer();
  const config = server.configs.get(id) ?? '';
  server.configs.delete(id);
  // The first agent dies before it has the config: a server that is away answers 503.
  const away = setInterval(() => {
    if (server.faults.length < 2) server.faults.push(503);
  }, 1);
  await start();
  await until(() => server.calls.length > 2, 'calls of the first agent');
  agent?.kill();
  clearInterval(away);
  server.faults = [];
  server.configs.set(id, config);
  await start();
  expect((await answerOf(id)).status_code).toBe(0);
  expect(readFileSync(ran(), 'utf8')).toBe('ran\n');
});

it('drops a request that the server withdrew before the fetch', async () => {
  const { id } = offer();
  server.configs.delete(id);
  server.holdAfterAnswers = undefined;
  await start();
  await until(() => fetches() > 0, 'the fetch');
  server.withdraw(id);
  const next = scriptRequest(`echo next >>${ran()}`);
  server.offer(next as never);
  expect((await answerOf(next.id)).status_code).toBe(0);
  expect(server.responses.some((each) => each.id === id)).toBe(false);
});
