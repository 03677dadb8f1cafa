/** Generated templates. Their scripts append to a trace file outside the machines, which survives a power cut. */

export interface FleetOptions {
  hosts: number;
  configsPerHost: number;
  /** A line per run is appended here: `<host index> <config index>`. */
  trace: string;
  /** Shell commands before the line is appended, e.g. `sleep 1`. */
  work?: string;
}

/** A fleet: `hosts` servers, each with a chain of ordered configs; in parallel across hosts. */
export function fleet({ hosts, configsPerHost, trace, work = ':' }: FleetOptions): string {
  const lines = ['heat_template_version: 2016-10-14', 'resources:'];
  for (let host = 0; host < hosts; host += 1) {
    lines.push(`  server${host}:`, '    type: OS::Nova::Server', '    properties: {image: any, flavor: baremetal}');
    for (let config = 0; config < configsPerHost; config += 1) {
      lines.push(
        `  config${host}_${config}:`,
        '    type: OS::Heat::OrderedConfig',
        '    properties:',
        `      hosted_on: {get_resource: server${host}}`,
        ...(config > 0 ? [`      depends_on: {get_resource: config${host}_${config - 1}}`] : []),
        '      script: |',
        '        #!/bin/sh',
        `        ${work}`,
        `        echo "${host} ${config}" >> ${trace}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Errors in the trace of a fleet: configs that did not run exactly once, or not in order. Empty when there are none. */
export function faultsOfTrace(
  text: string,
  { hosts, configsPerHost }: Pick<FleetOptions, 'hosts' | 'configsPerHost'>,
): string[] {
  const runs = new Map<number, number[]>();
  for (const line of text.split('\n').filter((entry) => entry !== '')) {
    const [host = -1, config = -1] = line.split(' ').map(Number);
    runs.set(host, [...(runs.get(host) ?? []), config]);
  }
  const expected = Array.from({ length: configsPerHost }, (_, config) => config).join(' ');
  return Array.from({ length: hosts }, (_, host) => ({ host, ran: (runs.get(host) ?? []).join(' ') }))
    .filter(({ ran }) => ran !== expected)
    .map(({ host, ran }) => `host ${host} ran "${ran}" instead of "${expected}"`);
}
