/** The life of a server with a lab, as its metrics show it: each moves. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { bundle, repository, settled, startServer, type TestServer } from './server.ts';

/** A line of each metric that the life below causes, and that no new server has. */
const moved: Readonly<Record<string, RegExp>> = {
  anneal_messages_sent_total: /^\{queue="events",type="stack\.create\.failed"\} 1/,
  anneal_message_handling_seconds: /^_count\{queue=".+",type="stack\.create\.failed",outcome="done"\} \d/,
  anneal_http_request_seconds: /^_count\{api="api",method="DELETE",status="4xx"\} 1/,
  anneal_event_delivery_seconds: /^_count\{scheme="http",outcome="away"\} \d/,
  anneal_event_backlog: /^\{scheme="http"\} [1-9]/,
  anneal_event_backlog_age_seconds: /^\{scheme="http"\} (?!0$)\d/,
  anneal_store_call_seconds: /^_count\{owner="notification",call="insert",outcome="done"\} \d/,
  anneal_nodes: /^\{state="active"\} 1/,
  anneal_nodes_faulty: /^\{fault="power failure"\} 1/,
  anneal_stacks: /^\{state="CREATE_FAILED"\} 1/,
  anneal_resources: /^\{status="FAILED"\} 1/,
  anneal_executions: /^\{state="SUCCESS"\} 1/,
  anneal_hosts: /^\{status="up"\} 1/,
  anneal_deployments: /^\{status="FAILED"\} 1/,
  anneal_clock_skew_seconds: /^ 3[56]\d\d/,
};
let server: TestServer;
let folder: string;
/** Sets the system clock of the server ahead of this machine's, in milliseconds. */
const setClock = (ms: number): Promise<void> => writeFile(join(folder, 'ahead'), String(ms));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-metrics-'));
  await setClock(0);
  server = await startServer({
    lab: 2,
    env: {
      ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '1',
      ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
      WALL_CLOCK_FILE: join(folder, 'ahead'),
      NODE_OPTIONS: `--import ${pathToFileURL(join(repository, 'test', 'e2e', 'wall-clock.mjs')).href}`,
    },
  });
});
afterAll(async () => {
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

const monitoring = (): string => /monitoring (\S+)\/metrics/.exec(server.log())?.[1] ?? '';
/** The metrics of which the line shows. */
async function shown(): Promise<string[]> {
  const lines = (await (await fetch(`${monitoring()}/metrics`)).text()).split('\n');
  return Object.entries(moved)
    .filter(([name, line]) => lines.some((each) => each.startsWith(name) && line.test(each.slice(name.length))))
    .map(([name]) => name);
}

it('health and metrics are at the address that the server prints', async () => {
  expect(Number(new URL(monitoring()).port)).toBe(Number(new URL(server.url).port) + 1);
  expect((await fetch(`${monitoring()}/health/ready`)).status).toBe(200);
});

it('each metric moves with the life of the server', async () => {
  const { client } = server;
  expect(await shown()).toEqual([]);
  // A new replica takes its queues over once.
  const text = await (await fetch(`${monitoring()}/metrics`)).text();
  expect(text).toMatch(/^anneal_queue_taken_over_total\{queue="[^"]+"\} 1$/m);
  // Off unless an interval is set.
  expect(text).not.toContain('anneal_node_sensor');

  await client.subscriptions.create({ name: 'away', url: 'http://127.0.0.1:1/', types: ['stack.#'] });
  await expect(client.subscriptions.delete({ id: 'none' })).rejects.toMatchObject({ code: 'NotFound' });
  await client.workflows.create({ text: "version: '2.0'\nw: {tasks: {a: {}}}", replace: false });
  await client.executions.start({ workflow: 'w', input: {} });
  const template = `
heat_template_version: 2018-08-31
resources:
  web: {type: OS::Nova::Server, properties: {flavor: baremetal, image: any, user_data_format: SOFTWARE_CONFIG}}
  fails: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: web}, script: exit 1}}
`;
  await client.stacks.create({ name: 'falls', bundle: bundle(template) });
  expect((await settled(server, 'falls')).stack_status).toBe('CREATE_FAILED');
  const free = (await client.nodes.list()).find(({ provision_state: state }) => state === 'available');
  await atLab(server, { path: `/lab/v1/machines/${free?.name}/faults`, body: { dark: true } });
  await setClock(3_600_000);

  let last: string[] = [];
  await eventually(async () => (last = await shown()).length === Object.keys(moved).length, {
    what: 'each metric',
    last: () => Object.keys(moved).filter((name) => !last.includes(name)),
  });
});
