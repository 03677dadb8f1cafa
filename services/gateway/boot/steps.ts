/**
 * The steps of a machine that booted the ramdisk, as one script. The machine gets it in exchange for its boot secret, so it
 * may hold credentials.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDeviceHints } from '@anneal/contracts/calls/node-fields.ts';
import { type BootSeed } from '@anneal/contracts/calls/boot.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { quoteForShell, writeFile } from '@anneal/tools/shell.ts';
import { metaData } from '../metadata/openstack.ts';
import type { DataMap } from '../images/data-map.ts';
import { shellText } from '../scripts/text.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'sh', `${name}.sh`), 'utf8');
const texts = { disks: read('disks'), clean: read('clean'), deploy: read('deploy') };

/** Sets the variables of a shell script. */
const assignments = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${quoteForShell(String(value))}\n`)
    .join('');

/**
 * The last line calls the function, so that an incomplete script does nothing.
 * @param data the parts of the image that the machine fetches. Absent: all of it.
 */
export function bootScript(seed: BootSeed, data?: DataMap): string {
  const { gateway_url, token, report_token = token } = seed;
  const common = { gateway_url: gateway_url.replace(/\/$/, ''), report_token };
  if (seed.purpose === 'clean') {
    return `${assignments({ ...common, mode: seed.erase ?? 'express', hints: '' })}${texts.disks}${texts.clean}{ clean; }\n`;
  }
  // Nothing but a deployment may write to a disk.
  if (seed.purpose !== 'deploy') {
    const why = `this ramdisk cannot ${seed.purpose} a machine`;
    return `${assignments({ ...common, hints: '', why })}${texts.disks}{ give_up "$why"; }\n`;
  }
  const { image, image_name = '' } = seed;
  const values = {
    ...common,
    image_name,
    image_url: image?.url ?? '',
    image_shown: shownUrl(image?.url),
    image_header: image?.kept === true ? `X-Auth-Token: ${report_token}` : '',
    image_sha256: image?.sha256 ?? '',
    image_size: image?.size ?? 0,
    ...dataValues(image, data),
    hints: hintLines(seed.root_device ?? {}),
  };
  return `${assignments(values)}${texts.disks}${texts.deploy}${configDrive(seed)}{ deploy; }\n`;
}

/** The runs of data, one a line, with their checksum. */
function dataValues(image: BootSeed['image'], data: DataMap | undefined): Record<string, string | number> {
  const image_mib = Math.ceil((image?.size ?? 0) / 2 ** 20);
  if (!data)
    return { image_mib, image_runs: `0 ${image_mib}`, data_size: image?.size ?? 0, data_sha256: image?.sha256 ?? '' };
  const runs = data.runs.map(([first, count]) => `${first} ${Math.min(count, image_mib - first)}`);
  return { image_mib, image_runs: runs.join('\n'), data_size: data.size, data_sha256: data.sha256 };
}

/** The address without its credentials, for messages. */
function shownUrl(url: string | undefined): string {
  if (url === undefined || !URL.canParse(url)) return '';
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?...'}`;
}

/**
 * The root device hints of Ironic, one a line: name, operator, value. Values are compared in lower case. Undefined hints
 * never fit, so that a hint which is not understood chooses no disk instead of the wrong one.
 */
export function hintLines(hints: JsonObject): string {
  return Object.entries(hints)
    .map(([name, value]) => {
      const text = textOf(value).toLowerCase().replaceAll(/\s+/g, ' ').trim();
      const [, operator = '', operand = ''] = /^(s==|==|=|>=|<in>|<all-in>)?\s*(.*)$/.exec(text) ?? [];
      const kind =
        operator === '>=' || (operator === '=' && name === 'size') ? '>=' : operator.includes('in') ? 'in' : '=';
      const known = rootDeviceHints.some((each) => each === name);
      return [known ? name : 'unknown', kind, operand].join('\t');
    })
    .join('\n');
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

/**
 * A function that writes the config drive below `$1`: the files that cloud-init reads, and the program that installs the
 * agent for images without cloud-init.
 */
function configDrive(seed: BootSeed): string {
  const agent = agentInstaller(seed);
  const files: Record<string, string> = {
    'openstack/latest/meta_data.json': JSON.stringify(metaData(seed)),
    ...(seed.network_data && { 'openstack/latest/network_data.json': JSON.stringify(seed.network_data) }),
    'openstack/latest/vendor_data.json': JSON.stringify({ 'cloud-init': agent }),
    'anneal/install.sh': agent,
    'anneal/hostname': seed.hostname,
    ...(seed.metadata_url !== undefined && { 'anneal/metadata-url': seed.metadata_url }),
    ...(seed.user_data !== '' && { 'openstack/latest/user_data': seed.user_data }),
  };
  const lines = Object.entries(files).map(([name, text]) => writeFile(`"$1"/${name}`, text));
  return `config_drive() {\n${lines.join('')}}\n`;
}

/** Installs the agent with the credentials of the host. It may run at every boot. */
function agentInstaller({
  gateway_url,
  token,
  host_id,
  hostname,
  project,
  requests_queue,
  responses_queue,
}: BootSeed): string {
  const conf = {
    url: gateway_url.replace(/\/$/, ''),
    token,
    host: host_id,
    name: hostname,
    project,
    requests_queue,
    responses_queue,
  };
  const lines = Object.entries(conf).map(([name, value]) => `${name}=${value.replaceAll(/\p{Cc}/gu, ' ')}\n`);
  return `#!/bin/sh
# Installs the agent of Anneal, which runs the configs of this host.
anneal_install() {
umask 077
url=${quoteForShell(conf.url)} cacert= prefix=\${ANNEAL_PREFIX:-}
agent=\${prefix:-/usr/local}/bin/anneal-agent state=\${prefix:-/var}/lib/anneal-agent
body=$state/body
mkdir -p "$state/requests" "\${agent%/*}" && chmod 755 "\${agent%/*}"
if [ ! -s "$state/conf" ]; then
  until fetch_agent sh "$state/agent.new" && sh -n "$state/agent.new"; do sleep 5; done
  chmod 755 "$state/agent.new" && mv -f "$state/agent.new" "$agent"
  ${writeFile('"$state/conf.new"', lines.join(''))}
  printf 'client=%s\\ncacert=\\n' "$(cat /proc/sys/kernel/random/uuid)" >>"$state/conf.new" && mv -f "$state/conf.new" "$state/conf"
fi
install_service
echo "$started"
}
${shellText.send}${shellText.fetch}${shellText.units}${shellText.join}{ anneal_install; }
`;
}
