/**
 * A list of configs of one stack on one host, each after the one before. They are queued at once; the host runs each
 * once, in order, and none after a failed one.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bundle, resourcesOfStack, settled, startServer, type TestServer } from '../e2e/server.ts';
import { agentKinds, type AgentKind, type TestHost } from '../system/agents/adapters.ts';

const soonMs = 90_000;
const kinds = [agentKinds.file, agentKinds.dash].filter(({ missing }) => missing === undefined);
let server: TestServer;
let directory: string;
const hosts: TestHost[] = [];
beforeAll(async () => {
  server = await startServer({ lab: 0 });
  directory = mkdtempSync(join(tmpdir(), 'anneal-ordered-'));
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.cutPower();
});
afterAll(async () => {
  await server?.dispose();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

const seedOf = (given: Pick<BootSeed, 'host_id' | 'token' | 'project' | 'hostname'>): BootSeed => ({
  ...given,
  format: 1,
  purpose: 'deploy',
  gateway_url: server.url,
  requests_queue: `host.${given.host_id}.requests`,
  responses_queue: `host.${given.host_id}.responses`,
  user_data: '',
  metadata: {},
});

class OrderedStack {
  readonly name: string;
  readonly log: string;
  constructor(name: string) {
    this.name = name;
    this.log = join(directory, `${name}.log`);
  }

  line(text: string, more = 'true'): string {
    return `#!/bin/sh\necho ${text} >>'${this.log}'\n${more}\n`;
  }

  /** A config that writes its line, and ends when `go` is called. */
  waiting(text: string): string {
    return this.line(text, `while [ ! -e '${this.log}.go' ]; do sleep 0.1; done`);
  }

  go(): void {
    writeFileSync(`${this.log}.go`, '');
  }

  lines(): string[] {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').split('\n').filter(Boolean) : [];
  }

  bundle(scripts: readonly string[]) {
    const configs = scripts.map((script, index) => {
      const properties = { hosted_on: { get_resource: 'host' }, script, options: { grace: 1 } };
      const after = index === 0 ? {} : { depends_on: { get_resource: `c${index - 1}` } };
      return [`c${index}`, { type: 'OS::Heat::OrderedConfig', properties: { ...properties, ...after } }];
    });
    const host = { type: 'OS::Heat::DeployedServer', properties: { name: this.name } };
    const resources = { host, ...(Object.fromEntries(configs) as object) };
    return bundle(JSON.stringify({ heat_template_version: '2018-08-31', resources }));
  }

  async create(scripts: readonly string[]): Promise<void> {
    await server.client.stacks.create({ name: this.name, bundle: this.bundle(scripts) });
  }

  async resource(name: string) {
    return (await resourcesOfStack(server, this.name)).get(name);
  }

  /** Starts the host when the last config is in its queue. */
  async startHost(kind: AgentKind, last: string): Promise<TestHost> {
    await eventually(
      async () => ((await this.resource(last))?.resource_status_reason?.includes('in the queue') ? true : undefined),
      { what: `${last} in the queue before any config has run`, within: soonMs, last: () => server.output() },
    );
    const host_id = (await this.resource('host'))?.physical_resource_id ?? '';
    const { stdout } = await server.anneal('host', 'token', host_id, '-o', 'json');
    const { token } = JSON.parse(stdout) as { token: string };
    const home = join(directory, this.name);
    mkdirSync(home);
    const { project } = (await server.client.hosts.show({ host: host_id })) as { project: string };
    const host = await kind.host(seedOf({ host_id, token, project, hostname: this.name }), home);
    hosts.push(host);
    host.start();
    return host;
  }

  hasWritten(text: string): Promise<true> {
    return eventually(() => (this.lines().includes(text) ? true : undefined), {
      what: `the line ${text}`,
      within: soonMs,
      last: () => `${this.lines().join()}\n${server.output()}`,
    });
  }

  async ends(status: string): Promise<string> {
    const { stack_status, stack_status_reason: reason } = await settled(server, this.name, soonMs);
    expect(stack_status, reason ?? '').toBe(status);
    return reason ?? '';
  }
}

it('has an agent to test with', () => expect(kinds.length).toBeGreaterThan(0));

describe.each(kinds)('a list of configs with $name', (kind) => {
  const nameOf = (name: string): string => `${name}-${kinds.indexOf(kind)}`;

  it('runs each once, in order, under a kill of the agent', async () => {
    const stack = new OrderedStack(nameOf('killed'));
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await stack.create(names.map((name) => (name === 'c' ? stack.waiting(name) : stack.line(name))));
    const host = await stack.startHost(kind, 'c5');
    await stack.hasWritten('c');
    await host.kill();
    host.start();
    stack.go();
    await stack.ends('CREATE_COMPLETE');
    expect(stack.lines()).toEqual(names);
  });

  it('stops at a failed one; an update that repairs it runs the others', async () => {
    const stack = new OrderedStack(nameOf('failed'));
    await stack.create([stack.line('a'), stack.line('b', 'exit 3'), stack.line('c'), stack.line('d')]);
    await stack.startHost(kind, 'c3');
    expect(await stack.ends('CREATE_FAILED')).toContain('resources.c1: Deployment to server failed');
    expect(stack.lines()).toEqual(['a', 'b']);
    const states = await Promise.all(['c0', 'c1', 'c2', 'c3'].map((name) => stack.resource(name)));
    expect(states.map((state) => state?.resource_status)).toEqual([
      'CREATE_COMPLETE',
      'CREATE_FAILED',
      'CREATE_FAILED',
      'CREATE_FAILED',
    ]);
    expect(states[2]?.resource_status_reason).toContain('c2 was not run: c1, which it depends on, failed');
    expect(states[3]?.resource_status_reason).toContain('c3 was not run: c2, which it depends on, was skipped');
    const repaired = stack.bundle([stack.line('a'), stack.line('b2'), stack.line('c'), stack.line('d')]);
    await server.client.stacks.update({ stack: stack.name, bundle: repaired });
    await stack.ends('UPDATE_COMPLETE');
    expect(stack.lines()).toEqual(['a', 'b', 'b2', 'c', 'd']);
  });

  it('runs none after the one that runs when the action is cancelled', async () => {
    const stack = new OrderedStack(nameOf('cancelled'));
    await stack.create([stack.waiting('a'), stack.line('b'), stack.line('c')]);
    await stack.startHost(kind, 'c2');
    await stack.hasWritten('a');
    await server.client.actions.act({ stack: stack.name, action: { kind: 'cancel', rollback: false } });
    // An agent that has a batch in hand begins none of it after two seconds: it claims again.
    const since = performance.now();
    await eventually(() => (performance.now() - since > 3_000 ? true : undefined), { what: 'the end of the batch' });
    stack.go();
    const isIn = async (name: string, status: string) =>
      (await stack.resource(name))?.resource_status === status ? true : undefined;
    await eventually(() => isIn('c0', 'CREATE_COMPLETE'), { what: 'the end of the config that ran', within: soonMs });
    for (const name of ['c1', 'c2'])
      await eventually(() => isIn(name, 'CREATE_FAILED'), { what: `the recall of ${name}`, within: soonMs });
    await server.client.stacks.update({ stack: stack.name, bundle: stack.bundle([stack.waiting('a')]) });
    await stack.ends('UPDATE_COMPLETE');
    expect(stack.lines()).toEqual(['a']);
  });

  it('begins again, in order, when an update replaces the one that runs', async () => {
    const stack = new OrderedStack(nameOf('superseded'));
    await stack.create([stack.waiting('a'), stack.line('b'), stack.line('c')]);
    await stack.startHost(kind, 'c2');
    await stack.hasWritten('a');
    const newer = stack.bundle([stack.line('a2'), stack.line('b'), stack.line('c2')]);
    await server.client.stacks.update({ stack: stack.name, bundle: newer });
    await stack.ends('UPDATE_COMPLETE');
    expect(stack.lines()).toEqual(['a', 'a2', 'b', 'c2']);
  });
});
