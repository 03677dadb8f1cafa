/** Work that goes on while a replica is cut off: updates of a group in batches, configs on hosts, timers, a listener. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle, settled, withClientRetries, type Watched } from '../e2e/server.ts';

const hosts = [1, 2];
const configs = [1, 2];
const limitMs = 180_000;

/** Six members in batches of two, each of which waits for a timer. */
const group = (round: number): string => `
heat_template_version: 2016-10-14
resources:
  group:
    type: OS::Heat::ResourceGroup
    update_policy: { rolling_update: { max_batch_size: 2, pause_time: 0 } }
    properties:
      count: 6
      resource_def: { type: OS::Heat::TestResource, properties: { value: "${round}", wait_secs: 0.2 } }
`;

/** Two hosts with two ordered configs each, which run again in each round. */
function fleetOf(trace: string, round: number): string {
  const lines = hosts.flatMap((host) => [
    `  server${host}: { type: OS::Nova::Server, properties: { image: any, flavor: baremetal } }`,
    ...configs.flatMap((config) => [
      `  config${host}_${config}:`,
      '    type: OS::Heat::OrderedConfig',
      '    properties:',
      `      hosted_on: { get_resource: server${host} }`,
      ...(config > 1 ? [`      depends_on: { get_resource: config${host}_${config - 1} }`] : []),
      '      script: |',
      '        #!/bin/sh',
      `        echo ${host} ${round} ${config} >> ${trace}`,
    ]),
  ]);
  return ['heat_template_version: 2016-10-14', 'resources:', ...lines, ''].join('\n');
}

const traceOf = (data: string): string => join(data, 'trace');

export async function beginRounds(fleet: Watched & { data: string }): Promise<void> {
  const { client } = fleet;
  await client.stacks.create({ name: 'group', bundle: bundle(group(0)) });
  await client.stacks.create({ name: 'fleet', bundle: bundle(fleetOf(traceOf(fleet.data), 0)) });
  for (const stack of ['group', 'fleet']) complete(await settled(fleet, stack, limitMs), stack);
}

/** Updates both stacks. Returns the milliseconds until both are complete. @throws when one does not complete */
export async function doRound(fleet: Watched & { data: string }, round: number): Promise<number> {
  const begunAt = performance.now();
  await Promise.all([
    update(fleet, 'group', group(round)),
    update(fleet, 'fleet', fleetOf(traceOf(fleet.data), round)),
  ]);
  return performance.now() - begunAt;
}

async function update(fleet: Watched, stack: string, template: string): Promise<void> {
  // The cut may end a request without an answer. The same template changes nothing twice.
  await withClientRetries(() => fleet.client.stacks.update({ stack, bundle: bundle(template) }), limitMs);
  complete(await settled(fleet, stack, limitMs), stack);
}

function complete(
  { stack_status: status, stack_status_reason: reason }: { stack_status: string; stack_status_reason: string | null },
  stack: string,
): void {
  if (!status.endsWith('_COMPLETE')) throw new Error(`The stack ${stack} is ${status}: ${reason}`);
}

/** The scripts that did not run exactly once, or not in order. */
export async function faultsOfScripts(data: string, rounds: number): Promise<string[]> {
  const lines = (await readFile(traceOf(data), 'utf8')).split('\n').filter((line) => line !== '');
  const all = Array.from({ length: rounds + 1 }, (_, round) => round);
  return hosts.flatMap((host) => {
    const ran = lines.filter((line) => line.startsWith(`${host} `)).join(', ');
    const expected = all.flatMap((round) => configs.map((config) => `${host} ${round} ${config}`)).join(', ');
    return ran === expected ? [] : [`host ${host} ran ${ran} instead of ${expected}`];
  });
}
