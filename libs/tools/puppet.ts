/** Puppet manifests, with the options of heat-agents' hook, and modules from the Forge. */
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, commaList, inputsOf, readChecked, type HostTool } from './tool.ts';

const options = z.object({
  enable_hiera: z.boolean().default(false),
  enable_facter: z.boolean().default(true),
  enable_debug: z.boolean().default(false),
  enable_verbose: z.boolean().default(false),
  modulepath: z.string().optional(),
  tags: commaList.optional(),
  /** Modules to install from the Forge: a name, or a name and a version as in `puppetlabs-stdlib@9.4.1`. */
  modules: z.array(z.string().regex(/^[\w-]+\/?[\w-]*(@[\w.-]+)?$/)).default([]),
});

export const puppet: HostTool = {
  group: 'puppet',
  program(request) {
    const chosen = readChecked(request, 'options', options);
    const inputs = inputsOf(request);
    const modules = chosen.modules.length > 0 ? '"$PWD/modules"' : undefined;
    const own = chosen.modulepath === undefined ? undefined : quoteForShell(chosen.modulepath);
    const path = [modules, own].filter((part) => part !== undefined).join(':');
    const flags = [
      ...(chosen.tags === undefined ? [] : ['--tags', quoteForShell(chosen.tags)]),
      ...(chosen.enable_debug ? ['--debug'] : []),
      ...(chosen.enable_verbose ? ['--verbose'] : []),
      ...(path === ''
        ? []
        : ['--modulepath', modules === undefined ? path : `${path}:"$(puppet config print modulepath)"`]),
    ];
    const facts = chosen.enable_facter ? Object.entries(inputs).filter(([name]) => /^[^=\0]+$/.test(name)) : [];
    return [
      prologue,
      `need puppet 'install Puppet (the package puppet, or puppet-agent)'\n`,
      writeFile('manifest.pp', asText(request.config)),
      ...chosen.modules.map(moduleOf),
      chosen.enable_hiera ? hieraData(request.name, JSON.stringify(inputs)) : 'hiera=\n',
      shell`fqdn=$(hostname -f 2>/dev/null) && FACTER_fqdn=$fqdn && export FACTER_fqdn
env FACTER_heat_outputs_path="$heat_outputs_path" ${facts.map(([name, value]) => quoteForShell(`FACTER_${name}=${asText(value)}`)).join(' ')} \
  puppet apply --color false --detailed-exitcodes --logdest console ${flags.join(' ')} $hiera manifest.pp
status=$?
# 2: Puppet changed something, and nothing failed.
[ "$status" -eq 2 ] && status=0
exit "$status"
`,
    ].join('');
  },
};

function moduleOf(text: string): string {
  const [name = '', version] = text.split('@');
  const wanted = version === undefined ? '' : ` --version ${quoteForShell(version)}`;
  return `puppet module install --target-dir "$PWD/modules" ${quoteForShell(name)}${wanted} || exit\n`;
}

/** As in heat-agents, the data is a file of Hiera's data folder. A host that does not read it there reads it here. */
const hieraData = (name: string, inputs: string): string => shell`${writeFile('inputs.json', inputs)}
FACTER_deploy_config_name=${quoteForShell(name)}
export FACTER_deploy_config_name
hiera=
if grep -q 'heat_config_' /etc/puppet/hiera.yaml 2>/dev/null; then
  data=\${HEAT_PUPPET_HIERA_DATADIR:-/etc/puppet/hieradata}
  mkdir -p "$data" && (umask 077; cat inputs.json >"$data"/heat_config_${quoteForShell(name.replaceAll('/', '_'))}.json) || exit
else
  printf '{"version": 5, "hierarchy": [{"name": "inputs", "path": "%s/inputs.json", "data_hash": "json_data"}]}\n' "$PWD" >hiera.yaml
  hiera=--hiera_config=hiera.yaml
fi
`;
