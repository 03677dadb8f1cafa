/**
 * A stack action that comes while a config of the stack hangs, with a real host: the config ends with all that it
 * started, and the newer one runs. The script would hang for ten minutes.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bundle, resourcesOfStack, settled, startServer, type TestServer } from '../e2e/server.ts';
import { agentKinds, type TestHost } from '../system/agents/adapters.ts';

/** A stack action ends long before the script would. */
const soonMs = 60_000;

const kind = agentKinds.dash;
let server: TestServer;
let directory: string;
const hosts: TestHost[] = [];
beforeAll(async () => {
  server = await startServer({ lab: 0 });
  directory = mkdtempSync(join(tmpdir(), 'anneal-overtaken-'));
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.cutPower();
});
afterAll(async () => {
  await server?.dispose();
  rmSync(directory, { recursive: true, force: true });
});

const template = (host: string): string => `heat_template_version: 2018-08-31
parameters:
  script: {type: string}
  label: {type: string, default: ''}
  wanted: {type: boolean, default: true}
  transport: {type: string, default: ZAQAR_SIGNAL}
conditions: {deployed: {get_param: wanted}}
resources:
  host: {type: OS::Heat::DeployedServer, properties: {name: ${host}}}
  config:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: {get_param: script}, outputs: [{name: result}], options: {grace: 1}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    condition: deployed
    properties: {config: {get_resource: config}, server: {get_resource: host}, name: {get_param: label}, signal_transport: {get_param: transport}}
  other:
    type: OS::Heat::OrderedConfig
    properties: {hosted_on: {get_resource: host}, script: 'true'}
outputs:
  result: {value: {if: [deployed, {get_attr: [deployment, result]}, none]}}
`;

class HangingStack {
  readonly name: string;
  readonly log: string;
  constructor(name: string) {
    this.name = name;
    this.log = join(directory, `${name}.log`);
  }

  /** A script with children, one of which has left its session and ignores SIGTERM. */
  get hang(): string {
    const detached = `setsid sh -c 'trap "" TERM HUP; echo $$ >>"${this.log}"; exec sleep 600' >/dev/null 2>&1 </dev/null &`;
    return `#!/bin/sh\nsleep 600 & echo $! >>'${this.log}'\n${detached}\necho $$ >>'${this.log}'\nwait\n`;
  }

  quick(line: string): string {
    return `#!/bin/sh\necho ${line} >>'${this.log}'\nprintf ${line} >"$heat_outputs_path.result"\n`;
  }

  lines(): string[] {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').split('\n').filter(Boolean) : [];
  }

  async create(script: string, onFailure: 'keep' | 'rollback' = 'keep'): Promise<void> {
    const parameters = { script };
    await server.client.stacks.create({ name: this.name, bundle: bundle(template(this.name)), parameters, onFailure });
  }

  async update(parameters: JsonObject): Promise<void> {
    await server.client.stacks.update({ stack: this.name, existing: true, parameters });
  }

  async deployment() {
    return (await resourcesOfStack(server, this.name)).get('deployment');
  }

  async startHost(): Promise<void> {
    const host_id = await eventually(
      async () => {
        const found = (await resourcesOfStack(server, this.name)).get('host');
        return found?.resource_status === 'CREATE_COMPLETE' ? (found.physical_resource_id ?? undefined) : undefined;
      },
      { what: 'the host', within: soonMs },
    );
    const { stdout } = await server.anneal('host', 'token', host_id, '-o', 'json');
    const { token } = JSON.parse(stdout) as { token: string };
    const home = join(directory, this.name);
    mkdirSync(home);
    const seed = { host_id, gateway_url: server.url, token } as BootSeed;
    const host = await kind?.host(seed, home);
    if (!host) throw new Error('there is no such agent');
    hosts.push(host);
    host.start();
  }

  /** The processes of the script, once all of them run. */
  async pids(): Promise<number[]> {
    const all = (): number[] => this.lines().flatMap((line) => (/^\d+$/.test(line) ? [Number(line)] : []));
    await eventually(() => (all().length === 3 ? true : undefined), {
      what: 'the processes of the script',
      within: soonMs,
      last: () => `${this.lines().join()}\n${server.output()}`,
    });
    return all();
  }

  texts(): string[] {
    return this.lines().filter((line) => !/^\d+$/.test(line));
  }

  async ends(status: string): Promise<unknown> {
    const stack = await settled(server, this.name, soonMs);
    expect(stack.stack_status, stack.stack_status_reason ?? '').toBe(status);
    return stack.outputs?.find(({ output_key: key }) => key === 'result')?.output_value;
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe.skipIf(kind?.missing !== undefined)('a stack whose config hangs', () => {
  it('is updated: the config ends with its children, and the newer one runs', async () => {
    const stack = new HangingStack('hanging-create');
    await stack.create(stack.hang);
    await stack.startHost();
    const pids = await stack.pids();
    const before = await stack.deployment();
    await stack.update({ script: stack.quick('newer') });
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('newer');
    expect(pids.filter(isAlive)).toEqual([]);
    expect(stack.texts()).toEqual(['newer']);
    expect((await stack.deployment())?.physical_resource_id).toBe(before?.physical_resource_id);
  });

  it('is updated before a host took the config, which then never runs', async () => {
    const stack = new HangingStack('queued');
    await stack.create(stack.quick('older'));
    await eventually(
      async () =>
        (await stack.deployment())?.resource_status_reason?.includes('Waits in the queue') ? true : undefined,
      { what: 'the queued config', within: soonMs },
    );
    await stack.update({ script: stack.quick('newer') });
    await eventually(async () =>
      (await stack.deployment())?.resource_status === 'CREATE_IN_PROGRESS' ? true : undefined,
    );
    await stack.startHost();
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('newer');
    expect(stack.texts()).toEqual(['newer']);
  });

  it('is rolled back during an update: the earlier config runs again', async () => {
    const stack = new HangingStack('hanging-update');
    await stack.create(stack.quick('first'));
    await stack.startHost();
    expect(await stack.ends('CREATE_COMPLETE')).toBe('first');
    await stack.update({ script: stack.hang });
    const pids = await stack.pids();
    await server.client.actions.act({ stack: stack.name, action: { kind: 'cancel', rollback: true } });
    expect(await stack.ends('ROLLBACK_COMPLETE')).toBe('first');
    expect(pids.filter(isAlive)).toEqual([]);
    expect(stack.texts()).toEqual(['first', 'first']);
  });

  it('is updated twice in a row: only the last config has to run', async () => {
    const stack = new HangingStack('twice');
    await stack.create(stack.hang);
    await stack.startHost();
    const pids = await stack.pids();
    await stack.update({ script: stack.quick('second') });
    await stack.update({ script: stack.quick('third') });
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('third');
    expect(pids.filter(isAlive)).toEqual([]);
    expect(stack.texts().at(-1)).toBe('third');
  });

  it('is updated with another transport: the provider of the replaced deployment stops its config', async () => {
    const stack = new HangingStack('another-transport');
    await stack.create(stack.quick('first'));
    await stack.startHost();
    await stack.ends('CREATE_COMPLETE');
    const before = await stack.deployment();
    await stack.update({ script: stack.hang });
    const pids = await stack.pids();
    await stack.update({ script: stack.quick('replacement'), transport: 'HEAT_SIGNAL' });
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('replacement');
    expect(pids.filter(isAlive)).toEqual([]);
    expect(stack.texts()).toEqual(['first', 'replacement']);
    expect((await stack.deployment())?.physical_resource_id).not.toBe(before?.physical_resource_id);
  });

  it('is updated so that the deployment must be replaced, or is removed, though it may roll back', async () => {
    const stack = new HangingStack('replaced');
    await stack.create(stack.quick('first'), 'rollback');
    await stack.startHost();
    await stack.ends('CREATE_COMPLETE');
    const before = await stack.deployment();
    await stack.update({ script: stack.hang });
    const pids = await stack.pids();
    // The name of a deployment is its identity on the host.
    await stack.update({ script: stack.quick('named'), label: 'another' });
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('named');
    expect(pids.filter(isAlive)).toEqual([]);
    expect((await stack.deployment())?.physical_resource_id).not.toBe(before?.physical_resource_id);
    await stack.update({ script: stack.hang });
    await eventually(() => (stack.lines().length - stack.texts().length === 6 ? true : undefined), { within: soonMs });
    await stack.update({ wanted: false });
    expect(await stack.ends('UPDATE_COMPLETE')).toBe('none');
    await eventually(() => (stack.lines().some((line) => isAlive(Number(line))) ? undefined : true), {
      within: soonMs,
    });
  });
});
