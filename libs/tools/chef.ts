/** Chef or Cinc in local mode, with the options of heat-agents' hook, and cookbooks from git or an archive. */
import type { Json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, ConfigError, inputsOf, readChecked, structured, type HostTool } from './tool.ts';

const options = z.object({
  /** Address of a git repository with `cookbooks`, `roles`, `environments`, a Berksfile or a Policyfile. */
  kitchen: z.string().optional(),
  kitchen_path: z.string().startsWith('/').optional(),
  /** Address of a gzipped tar archive with the same content, and its SHA-256. */
  archive: z.url().optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
});

/** Inputs that describe the deployment, not the node. */
const ownInputs = /^deploy_(server_id|action|stack_id|resource_name|signal_\w+)$/;

export const chef: HostTool = {
  group: 'chef',
  program(request) {
    const chosen = readChecked(request, 'options', options);
    if (chosen.archive !== undefined && chosen.sha256 === undefined)
      throw new ConfigError('The options of group chef name an archive without its sha256.');
    const { environment, ...attributes } = Object.fromEntries(
      Object.entries(inputsOf(request)).filter(([name]) => !ownInputs.test(name)),
    );
    const node = { ...attributes, run_list: runList(structured(request)) };
    return [
      prologue,
      shell`client=$(command -v cinc-client || command -v chef-client) || need cinc-client 'install Cinc or Chef'
kitchen=${chosen.kitchen_path === undefined ? '$PWD/kitchen' : quoteForShell(chosen.kitchen_path)}
`,
      chosen.kitchen === undefined ? '' : clone(chosen.kitchen),
      chosen.archive === undefined ? '' : unpack(chosen.archive, chosen.sha256 ?? ''),
      cookbooks,
      writeFile('node.json', asText(node)),
      shell`mkdir -p "$kitchen" nodes
cat >client.rb <<END
local_mode true
chef_zero.enabled true
log_location STDOUT
cookbook_path ["$kitchen/cookbooks", "$kitchen/vendor"]
role_path "$kitchen/roles"
environment_path "$kitchen/environments"
node_path "$PWD/nodes"
END
exec "$client" --local-mode --no-color --chef-license accept-silent --config client.rb ${environment === undefined ? '' : `--environment ${quoteForShell(asText(environment))} `}--json-attributes node.json
`,
    ].join('');
  },
};

function runList(config: Json): Json {
  if (Array.isArray(config) && config.every((entry) => typeof entry === 'string')) return config;
  throw new ConfigError('The config of group chef must be a run list: a list such as ["recipe[nginx]", "role[web]"].');
}

const clone = (address: string): string => shell`need git 'the option kitchen is a git repository'
if [ -d "$kitchen/.git" ]; then git -C "$kitchen" pull --ff-only || exit
else git clone -- ${quoteForShell(address)} "$kitchen" || exit
fi
`;

const unpack = (address: string, sha256: string): string => shell`need curl 'the option archive is downloaded with it'
curl --fail --silent --show-error --location --output kitchen.tar.gz -- ${quoteForShell(address)} || exit
echo '${sha256}  kitchen.tar.gz' | sha256sum -c - >/dev/null || { echo 'the archive of cookbooks has another SHA-256' >&2; exit 1; }
mkdir -p "$kitchen" && tar -xzf kitchen.tar.gz -C "$kitchen" || exit
`;

const cookbooks = shell`if [ -f "$kitchen/Berksfile" ]; then
  need berks 'the kitchen has a Berksfile'
  berks vendor --berksfile "$kitchen/Berksfile" "$kitchen/vendor" || exit
elif [ -f "$kitchen/Policyfile.rb" ]; then
  tool=$(command -v cinc-cli || command -v chef-cli || command -v chef) || need chef-cli 'the kitchen has a Policyfile'
  "$tool" install "$kitchen/Policyfile.rb" && "$tool" export --force "$kitchen/Policyfile.rb" "$kitchen/exported" || exit
  kitchen=$kitchen/exported
fi
`;
