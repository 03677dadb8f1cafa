/**
 * Unmodified os-collect-config with heat-agents under SIGKILL: of the server, of the agent, and of all its processes.
 * Skipped without python3 or access to PyPI.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { NoPython } from '../../backends/pypi.ts';
import { bundle, settled, startServer, type TestServer } from '../../e2e/server.ts';
import { HeatHost, type CollectSettings } from './heat-host.ts';
import { installHeatPrograms, type HeatPrograms } from './programs.ts';

let programs: HeatPrograms | NoPython;
let server: TestServer | undefined;
let host: HeatHost | undefined;
beforeAll(async () => {
  programs = await installHeatPrograms();
  if ('missing' in programs) return;
  server = await startServer({ lab: 0, env: { ANNEAL_CONFIGURATION_POP_LEASE_SECONDS: '5' } });
}, 360_000);
afterEach(() => host?.dispose());
afterAll(() => server?.dispose());

/** The first config waits for the file `go`. The second one runs after it. */
const template = (collector: string, signal: string): string => `heat_template_version: 2018-08-31
outputs: {settings: {value: {get_attr: [host, os_collect_config]}}}
resources:
  host: {type: OS::Heat::DeployedServer, properties: {name: h, software_config_transport: ${collector}}}
  slow:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      config: |
        #!/bin/sh
        echo begin >>"$TRACE"
        until [ -e "$(dirname "$TRACE")/go" ]; do sleep 0.1; done
        echo end >>"$TRACE"
  quick:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      config: |
        #!/bin/sh
        echo quick >>"$TRACE"
  first:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: slow}, server: {get_resource: host}, signal_transport: ${signal}}
  second:
    type: OS::Heat::SoftwareDeployment
    depends_on: first
    properties: {config: {get_resource: quick}, server: {get_resource: host}, signal_transport: ${signal}}
`;

interface Running {
  server: TestServer;
  host: HeatHost;
  name: string;
}

/** A host that runs the first config. */
async function running(context: TestContext, collector: string, signal: string): Promise<Running> {
  if ('missing' in programs) context.skip(programs.missing);
  if (!server || 'missing' in programs) throw new Error('there is no server');
  const { client } = server;
  const output = (): string => server?.output() ?? '';
  const name = `kill-${collector.toLowerCase()}-${signal.toLowerCase()}`.replaceAll('_', '-');
  await client.stacks.create({ name, bundle: bundle(template(collector, signal)) });
  const settings = await eventually(
    async () => {
      const { outputs } = await client.stacks.show({ stack: name, outputs: true });
      return (outputs?.[0]?.output_value ?? undefined) as CollectSettings | undefined;
    },
    { what: 'the settings', last: output },
  );
  const made = await HeatHost.create(programs, settings);
  host = made;
  made.start();
  await eventually(async () => (await made.trace()).includes('begin'), {
    what: 'the first config',
    last: made.output,
  });
  return { server, host: made, name };
}

const go = (made: HeatHost): Promise<void> => writeFile(join(made.root, 'go'), '');

async function completed({ server: watched, host: made, name }: Running): Promise<string[]> {
  const stack = await settled(
    { client: watched.client, output: () => `${made.output()}\n${watched.output()}` },
    name,
    200_000,
  );
  expect(stack.stack_status, `${stack.stack_status_reason}\n${made.output()}`).toBe('CREATE_COMPLETE');
  return made.trace();
}

describe('a config of heat-agents', () => {
  for (const [collector, signal] of [
    ['ZAQAR_MESSAGE', 'ZAQAR_SIGNAL'],
    ['POLL_SERVER_CFN', 'HEAT_SIGNAL'],
  ] as const) {
    it(`runs once when the server is killed and its notification is lost: ${collector}, ${signal}`, async (context) => {
      const run = await running(context, collector, signal);
      await run.server.kill();
      await go(run.host);
      await eventually(() => run.host.printed('Error running heat-config-notify'), {
        what: 'a lost notification',
        last: run.host.output,
      });
      await run.server.start();
      expect(await completed(run)).toEqual(['begin', 'end', 'quick']);
    });
  }

  it('runs once when only os-collect-config is killed during it', async (context) => {
    const run = await running(context, 'POLL_SERVER_HEAT', 'TEMP_URL_SIGNAL');
    await run.host.kill('agent');
    run.host.start();
    // The new agent wants to apply the same metadata, while the hook of the old one still runs.
    await eventually(() => run.host.printed('Could not lock'), {
      what: 'the new agent',
      last: run.host.output,
    });
    await go(run.host);
    expect(await completed(run)).toEqual(['begin', 'end', 'quick']);
  });

  it('runs again when its hook is killed with all processes of the host', async (context) => {
    const run = await running(context, 'POLL_TEMP_URL', 'CFN_SIGNAL');
    await run.host.kill('group');
    await go(run.host);
    run.host.start();
    expect(await completed(run)).toEqual(['begin', 'begin', 'end', 'quick']);
  });
});
