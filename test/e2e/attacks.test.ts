/** Small requests that cause much work: each is answered, and other clients are answered at the same time. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logInOverHttp } from './log-in.ts';
import { startServer, type TestServer } from './server.ts';

let server: TestServer;
let token: string;
const stacks = '/orchestration/v1/00000000000000000000000000000001';

beforeAll(async () => {
  // On a busy machine the first worker takes seconds to start.
  server = await startServer({ lab: 0, env: { ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS: '60000' } });
  ({ token } = await logInOverHttp(server));
});
afterAll(() => server.dispose());

const many = (count: number, each: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => each(i)).join('\n');
const hot = 'heat_template_version: 2018-08-31\n';
const endless = '{yaql: {expression: "generate(0, true, $ + 1).len()", data: {}}}';
const none = '{type: OS::Heat::None}';
const group = (count: number, definition: string): string =>
  `{type: OS::Heat::ResourceGroup, properties: {count: ${count}, resource_def: ${definition}}}`;
const patterns = {
  template: `${hot}parameters:\n${many(40, (i) => `  p${i}: {type: string, constraints: [{allowed_pattern: "(a*)*(a*)*b"}]}`)}`,
  parameters: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, 'a'.repeat(300)])),
};

const ask = (path: string, body: object): Promise<number> =>
  fetch(`${server.url}${stacks}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-auth-token': token },
    body: JSON.stringify(body),
  }).then(async (answer) => {
    await answer.text();
    return answer.status;
  });

describe('a request that causes much work', () => {
  it.each<[what: string, path: string, body: object, status: number]>([
    ['40 patterns that never match', '/validate', patterns, 400],
    ['a sequence without end', '/validate', { template: `${hot}outputs: {o: {value: ${endless}}}` }, 400],
    ['a group of groups', '/validate', { template: `${hot}resources:\n  g: ${group(300, group(300, none))}` }, 400],
    [
      '400 outputs without end',
      '/stacks',
      { stack_name: 'outputs', template: `${hot}outputs:\n${many(400, (i) => `  o${i}: {value: ${endless}}`)}` },
      400,
    ],
    [
      '14,000 parameters',
      '/validate',
      { template: `${hot}parameters:\n${many(14_000, (i) => `  parameter${i}: {type: string}`)}` },
      200,
    ],
    [
      'a cycle of 10,000',
      '/validate',
      {
        template: `${hot}resources:\n${many(10_000, (i) => `  r${i}: {type: OS::Heat::None, depends_on: r${(i + 1) % 10_000}}`)}`,
      },
      400,
    ],
    [
      'a value that doubles 40 times',
      '/stacks',
      {
        stack_name: 'doubling',
        template: `${hot}resources:\n${many(40, (i) => {
          const before = `{get_attr: [r${i - 1}, value]}`;
          const value = i === 0 ? `"${'x'.repeat(1000)}"` : `{list_join: ["", [${before}, ${before}]]}`;
          return `  r${i}: {type: OS::Heat::Value, properties: {value: ${value}}}`;
        })}`,
      },
      201,
    ],
  ])('another client is answered: %s', async (_, path, body, status) => {
    const state = { answered: false };
    const attack = ask(path, body).finally(() => (state.answered = true));
    let neighbours = 0;
    do {
      // oxlint-disable-next-line no-await-in-loop -- one after another, like a client
      expect((await fetch(`${server.url}/`)).status).toBe(200);
      neighbours += 1;
    } while (!state.answered);
    expect(await attack).toBe(status);
    expect(neighbours).toBeGreaterThan(1);
  });

  it('a group of 100,000 is refused before it is expanded', async () => {
    // So early that a neighbour may get no second answer meanwhile.
    expect(await ask('/validate', { template: `${hot}resources:\n  g: ${group(100_000, none)}` })).toBe(400);
  });

  it('is abandoned when its client disconnects', async () => {
    const clients = Array.from({ length: 8 }, () => {
      const sent = request(`${server.url}${stacks}/validate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-auth-token': token },
      });
      sent.on('error', () => {});
      sent.end(JSON.stringify(patterns));
      return sent;
    });
    await Promise.all(clients.map((client) => new Promise((resolve) => client.once('finish', resolve))));
    for (const client of clients) client.destroy();
    const padded = `${hot}outputs: {o: {value: 1}}\n#${'x'.repeat(20_000)}`;
    expect(await ask('/validate', { template: padded })).toBe(200);
  });
});
