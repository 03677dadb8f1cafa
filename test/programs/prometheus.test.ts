/**
 * The real Prometheus and Alertmanager (packages `prometheus` and `prometheus-alertmanager` of Debian): Anneal asks one,
 * and the other notifies it, while the server is killed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { findProgram } from '../backends/program.ts';
import { bundle, settled, startServer, type TestServer } from '../e2e/server.ts';

const directory = mkdtempSync(join(tmpdir(), 'anneal-prometheus-'));
const stops: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
let missing: string | undefined;
let server: TestServer;
let prometheusPort = 0;
/** The latest lines of the programs. */
let log = '';
/** The measurement that Prometheus reads. */
let load = 0.1;

beforeAll(async () => {
  for (const program of ['prometheus', 'prometheus-alertmanager']) {
    if ((await findProgram(program)) === undefined) missing = `${program} is not on the PATH`;
  }
  if (missing !== undefined) return;
  prometheusPort = await freeLocalPort();
  server = await startServer({
    lab: 0,
    env: {
      ANNEAL_NOTIFICATION_PROMETHEUS_URL: `http://127.0.0.1:${prometheusPort}`,
      ANNEAL_NOTIFICATION_ALARM_SECONDS: '1',
    },
  });
  stops.push(() => server.dispose());
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const template = `heat_template_version: 2018-08-31
resources:
  workers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 2
      desired_capacity: 1
      resource: {type: OS::Heat::DeployedServer, properties: {name: {list_join: ['-', [worker, {get_param: 'OS::stack_name'}]]}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
  down: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: -1}}
  busy:
    type: Anneal::AlertmanagerAlarm
    properties:
      labels: {alertname: Busy, app: shop}
      alarm_actions: [up]
      ok_actions: [down]
  asked:
    type: OS::Aodh::PrometheusAlarm
    properties: {query: 'load{app="shop"}', threshold: 0.8, comparison_operator: gt, repeat_actions: false}
outputs:
  alert_url: {value: {get_attr: [busy, alert_url]}}
  size: {value: {get_attr: [workers, current_size]}}
`;

const outputOf = async (name: string): Promise<unknown> =>
  ((await settled(server, 'shop')).outputs ?? []).find(({ output_key: key }) => key === name)?.output_value;
const stateOf = async (alarm: string): Promise<string> => {
  const { stdout } = await server.anneal('alarm', 'show', alarm, '-o', 'json');
  return (JSON.parse(stdout) as { state: string }).state;
};

/** A page with the measurement, as applications show it to Prometheus. */
async function startApplication(): Promise<number> {
  const application = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(`load ${load}\n`),
  ).listen(0, '127.0.0.1');
  await once(application, 'listening');
  stops.push(() => application.close());
  return (application.address() as AddressInfo).port;
}

function run(program: string, words: readonly string[]): void {
  const child = spawn(program, words, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.on('data', (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-4000)));
  stops.push(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
}
/** JSON is YAML. */
function writeConfig(name: string, content: unknown): string {
  const file = join(directory, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

async function startMonitoring(alertUrl: string): Promise<void> {
  const alertmanagerPort = await freeLocalPort();
  const alertmanager = writeConfig('alertmanager.yml', {
    route: {
      receiver: 'anneal',
      group_by: ['alertname'],
      group_wait: '1s',
      group_interval: '1s',
      repeat_interval: '1m',
    },
    receivers: [{ name: 'anneal', webhook_configs: [{ url: alertUrl, send_resolved: true }] }],
  });
  run('prometheus-alertmanager', [
    `--config.file=${alertmanager}`,
    `--web.listen-address=127.0.0.1:${alertmanagerPort}`,
    `--storage.path=${join(directory, 'alertmanager')}`,
    '--cluster.listen-address=',
  ]);
  const rules = writeConfig('rules.yml', {
    groups: [
      {
        name: 'shop',
        rules: [{ alert: 'Busy', expr: 'load > 0.8', annotations: { value: '{{ $value }}' } }],
      },
    ],
  });
  const prometheus = writeConfig('prometheus.yml', {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }] },
    scrape_configs: [
      {
        job_name: 'shop',
        static_configs: [{ targets: [`127.0.0.1:${await startApplication()}`], labels: { app: 'shop' } }],
      },
    ],
  });
  run('prometheus', [
    `--config.file=${prometheus}`,
    `--web.listen-address=127.0.0.1:${prometheusPort}`,
    `--storage.tsdb.path=${join(directory, 'prometheus')}`,
  ]);
}

it('alerts of Alertmanager and queries of Prometheus drive alarms, also when the server is killed in between', async (context) => {
  if (missing !== undefined) context.skip(missing);
  await server.client.stacks.create({ name: 'shop', bundle: bundle(template, {}) });
  expect((await settled(server, 'shop')).stack_status).toBe('CREATE_COMPLETE');
  const alertUrl = await outputOf('alert_url');
  expect(alertUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/cfn\/v1\/signal\//);
  await startMonitoring(String(alertUrl));
  const reach = (alarm: string, state: string) =>
    eventually(async () => (await stateOf(alarm).catch(() => '')) === state, {
      within: 90_000,
      what: `${alarm} being ${state}`,
      last: () => `${server.output().slice(-1000)}\n${log}`,
    });
  await reach('asked', 'ok');
  expect(await stateOf('busy')).toBe('insufficient data');

  load = 0.95;
  await Promise.all([reach('busy', 'alarm'), reach('asked', 'alarm')]);
  await eventually(async () => (await outputOf('size').catch(() => 0)) === 2, { what: 'two members' });

  await server.kill();
  load = 0.1;
  await server.start();
  await Promise.all([reach('busy', 'ok'), reach('asked', 'ok')]);
  await eventually(async () => (await outputOf('size').catch(() => 0)) === 1, { what: 'one member' });

  const nonsense = await fetch(String(alertUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ version: '3', alerts: 'all' }),
  });
  expect([nonsense.status, await nonsense.text()]).toEqual([400, expect.stringContaining('version')]);
  expect(await stateOf('busy')).toBe('ok');
});
