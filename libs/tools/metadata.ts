/**
 * Data that other programs of the host read: the groups `os-apply-config` and `Heat::Ungrouped`, which have no hook in
 * Heat, and heat-agents' `apply-config`, `hiera`, `json-file` and `cfn-init`.
 */
import type { Json } from '@anneal/contracts/json.ts';
import { posix } from 'node:path';
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, ConfigError, readChecked, structured, type HostTool } from './tool.ts';

/** A name of a file: no folder, no hidden file. */
const fileName = (name: string): string => name.replaceAll(/[^\w.-]/g, '_').replace(/^\./, '_');
const pretty = (value: Json): string => JSON.stringify(value, undefined, 4);

/** os-collect-config keeps such data in a file of its own and names it in its list; os-apply-config reads the list. */
const keepMetadata = (group: string): HostTool => ({
  group,
  program(request) {
    const config = structured(request);
    if (typeof config !== 'object' || config === null || Array.isArray(config)) {
      throw new ConfigError(
        `The config of group ${group} must be an object, because it is data for os-apply-config. ` +
          'To run it as a script, use the group script.',
      );
    }
    const name = fileName(request.name);
    return [
      prologue,
      shell`folder=\${ANNEAL_METADATA_DIR:-/var/lib/os-collect-config}
mkdir -p "$folder/anneal" || exit
`,
      request.action === 'DELETE'
        ? `rm -f "$folder/anneal/${name}.json"\n`
        : `${writeFile('metadata.json', pretty(config))}mv metadata.json "$folder/anneal/${name}.json" || exit\n`,
      shell`# The list of os-collect-config belongs to it where it runs: add to the list only what this tool keeps.
list="$folder/os_config_files.json"
if [ -f "$list" ] && ! grep -q "\"$folder/anneal/" "$list"; then
  echo "$list belongs to another program: add the files of $folder/anneal to it" >&2
  exit 0
fi
{
  printf '['
  separator=
  for file in "$folder"/anneal/*.json; do
    [ -f "$file" ] || continue
    printf '%s"%s"' "$separator" "$file"
    separator=', '
  done
  echo ']'
} >"$list.new" && mv "$list.new" "$list"
`,
    ].join('');
  },
});

const applyConfig: HostTool = {
  group: 'apply-config',
  program: () =>
    `${prologue}need os-apply-config 'install it with: pip install os-apply-config'
folder=\${ANNEAL_METADATA_DIR:-/var/lib/os-collect-config}
export OS_CONFIG_FILES_PATH="\${OS_CONFIG_FILES_PATH:-$folder/os_config_files.json}"
exec os-apply-config
`,
};

const jsonFile: HostTool = {
  group: 'json-file',
  program(request) {
    const files = readChecked(
      request,
      'config',
      z.record(z.string().startsWith('/', 'must be an absolute path'), z.json()),
    );
    if (request.action === 'DELETE') return `${prologue}rm -f -- ${Object.keys(files).map(quoteForShell).join(' ')}\n`;
    return (
      prologue +
      Object.entries(files)
        .map(([path, value]) => replaceFile(quoteForShell(path), pretty(value)))
        .join('')
    );
  },
};

/** Writes beside the file first, so that no reader sees a part of it. */
function replaceFile(path: string, text: string): string {
  return `mkdir -p -- "$(dirname -- ${path})" || exit\n${writeFile(`${path}.new`, text)}mv -f -- ${path}.new ${path} || exit\n`;
}

const hieraConfig = z.object({
  hierarchy: z.array(z.string().regex(/^[^\n]*$/, 'must be one line')).optional(),
  datafiles: z.record(z.string().regex(/^[\w.-]+$/, 'must be a file name'), z.json()).default({}),
});

const hiera: HostTool = {
  group: 'hiera',
  program(request) {
    const { hierarchy, datafiles } = readChecked(request, 'config', hieraConfig);
    const config = hierarchy && {
      version: 5,
      hierarchy: hierarchy.map((name) => ({ name, path: `${name}.json`, data_hash: 'json_data' })),
    };
    return [
      prologue,
      shell`data=\${HEAT_PUPPET_HIERA_DATADIR:-/etc/puppet/hieradata}
config=\${HEAT_HIERA_CONFIG:-/etc/puppet/hiera.yaml}
mkdir -p "$data" "$(dirname "$config")" || exit
`,
      ...Object.entries(datafiles).map(([name, value]) =>
        replaceFile(`"$data"/${posix.basename(name)}.json`, pretty(value)),
      ),
      // Hiera 5, which Puppet has read since 2017, instead of the Hiera 3 file of heat-agents.
      config === undefined ? '' : replaceFile('"$config"', pretty({ ...config, defaults: { datadir: 'DATADIR' } })),
      config === undefined
        ? ''
        : shell`sed "s|\"DATADIR\"|\"$data\"|" "$config" >"$config.new" && mv -f "$config.new" "$config"
`,
    ].join('');
  },
};

const cfnInit: HostTool = {
  group: 'cfn-init',
  program(request) {
    const init = structured(request);
    return [
      prologue,
      `need cfn-init 'install it with: pip install heat-cfntools'\n`,
      shell`folder=\${HEAT_CFN_INIT_LAST_METADATA_DIR:-/var/cache/heat-cfntools}
mkdir -p "$folder" || exit
`,
      writeFile('"$folder/last_metadata"', asText({ 'AWS::CloudFormation::Init': init })),
      'exec cfn-init\n',
    ].join('');
  },
};

export const metadataTools: readonly HostTool[] = [
  keepMetadata('os-apply-config'),
  keepMetadata('Heat::Ungrouped'),
  applyConfig,
  hiera,
  jsonFile,
  cfnInit,
];
