/**
 * Unmodified os-collect-config with heat-agents: every collector with every signal transport. Skipped without python3 or
 * access to PyPI.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { NoPython } from '../../backends/pypi.ts';
import { bundle, settled, startServer, type TestServer } from '../../e2e/server.ts';
import { HeatHost, type CollectSettings } from './heat-host.ts';
import { installHeatPrograms, type HeatPrograms } from './programs.ts';

let programs: HeatPrograms | NoPython;
let server: TestServer | undefined;
const hosts: HeatHost[] = [];
beforeAll(async () => {
  programs = await installHeatPrograms();
  if ('missing' in programs) return;
  server = await startServer({ lab: 0 });
}, 360_000);
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.dispose()));
  await server?.dispose();
});

/** Skips the test, with the reason, when the programs are absent. */
function needed(context: TestContext): { server: TestServer; programs: HeatPrograms } {
  if ('missing' in programs) context.skip(programs.missing);
  if (!server || 'missing' in programs) throw new Error('there is no server');
  return { server, programs };
}

const outputOf = async (stack: string, key: string): Promise<unknown> => {
  const { outputs } = await server!.client.stacks.show({ stack, outputs: true });
  return outputs?.find(({ output_key }) => output_key === key)?.output_value;
};

/** Creates the stack and its host, which starts as soon as the template gives its settings. */
async function startHost(context: TestContext, name: string, template: string): Promise<HeatHost> {
  const { server: running, programs: installed } = needed(context);
  await running.client.stacks.create({ name, bundle: bundle(template) });
  const settings = await eventually(
    async () => ((await outputOf(name, 'settings')) ?? undefined) as CollectSettings | undefined,
    {
      what: `the settings of ${name}`,
      last: () => running.output(),
    },
  );
  const host = await HeatHost.create(installed, settings);
  hosts.push(host);
  host.start();
  return host;
}

const transports = ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'ZAQAR_SIGNAL', 'AUTO', 'NO_SIGNAL'] as const;
const header = (transport: string, outputs = ''): string => `heat_template_version: 2018-08-31
outputs:
  settings: {value: {get_attr: [host, os_collect_config]}}
${outputs}resources:
  host: {type: OS::Heat::DeployedServer, metadata: {mine: 1}, properties: {name: h-${transport.toLowerCase().replaceAll('_', '-')}, software_config_transport: ${transport}}}
`;

const attributes = ['said', 'deploy_stdout', 'deploy_stderr', 'deploy_status_code'];
const answers = `  answers: {value: [${transports
  .slice(0, 5)
  .map((_, index) => `[${attributes.map((each) => `{get_attr: [d${index}, ${each}]}`).join(', ')}]`)
  .join(', ')}]}
`;

/** A chain of deployments with the same config, one per signal transport. */
const chain = (collector: string): string => `${header(collector, answers)}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: number, type: Number}, {name: text}]
      outputs: [{name: said}]
      config: |
        #!/bin/sh
        echo "begin $number $deploy_signal_transport" >>"$TRACE"
        printf '%s' "<$text&>" >"$heat_outputs_path.said"
        echo out
        echo err >&2
        echo "end $number" >>"$TRACE"
${transports
  .map(
    (transport, index) => `  d${index}:
    type: OS::Heat::SoftwareDeployment
    ${index === 0 ? '' : `depends_on: d${index - 1}`}
    properties:
      config: {get_resource: config}
      server: {get_resource: host}
      signal_transport: ${transport}
      input_values: {number: ${index}, text: "é ${index}"}
`,
  )
  .join('')}`;

const collectors = {
  POLL_SERVER_CFN: { collector: 'cfn', follows: 'CFN_SIGNAL' },
  POLL_SERVER_HEAT: { collector: 'heat', follows: 'HEAT_SIGNAL' },
  POLL_TEMP_URL: { collector: 'request', follows: 'TEMP_URL_SIGNAL' },
  ZAQAR_MESSAGE: { collector: 'zaqar', follows: 'ZAQAR_SIGNAL' },
} as const;

describe('os-collect-config', () => {
  for (const [transport, { collector, follows }] of Object.entries(collectors)) {
    it.concurrent(`${transport}: applies each config once and in order, whatever transport its answer takes`, async (context) => {
      const name = `chain-${collector}`;
      const host = await startHost(context, name, chain(transport));
      const stack = await settled(server!, name, 280_000);
      expect(stack.stack_status, `${stack.stack_status_reason}\n${host.output()}`).toBe('CREATE_COMPLETE');
      // The engine does not wait for the last one.
      const lines = await eventually(
        async () => {
          const trace = await host.trace();
          return trace.includes('end 5') ? trace : undefined;
        },
        { what: 'the last config', last: host.output },
      );
      const asked = transports.map((each) => (each === 'AUTO' ? follows : each));
      expect(lines).toEqual(asked.flatMap((each, index) => [`begin ${index} ${each}`, `end ${index}`]));
      const expected = [0, 1, 2, 3, 4].map((index) => [`<é ${index}&>`, 'out\n', 'err\n', 0]);
      expect(await outputOf(name, 'answers')).toEqual(expected);
      // os-apply-config wrote the settings of the metadata, and os-collect-config continued with them.
      const written = await readFile(host.configFile, 'utf8');
      expect(written).toContain(`collectors = ${collector}`);
      const cached = JSON.parse(await readFile(join(host.root, 'cache', `${collector}.json`), 'utf8')) as object;
      expect(cached).toMatchObject({ mine: 1 });
    });
  }
});

describe('the client of AWS', () => {
  it('reads the metadata of a host with signatures of version 4', async (context) => {
    const { server: running, programs: installed } = needed(context);
    await running.client.stacks.create({ name: 'aws', bundle: bundle(header('POLL_SERVER_CFN')) });
    await settled(running, 'aws');
    const { cfn } = (await outputOf('aws', 'settings')) as { cfn: Record<string, string> };
    const words = [cfn['metadata_url'], cfn['access_key_id'], cfn['secret_access_key'], 'aws', 'host'].map(String);
    const script = join(import.meta.dirname, 'boto.py');
    const { stdout } = await promisify(execFile)(join(installed.bin, 'python'), [script, ...words]);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'OS::Heat::DeployedServer',
      metadata: { mine: 1, deployments: [], 'os-collect-config': { cfn } },
    });
  });
});
