/**
 * Chef or Cinc in local mode, with the options of heat-agents' hook. The kitchen is a folder of the host, a git repository
 * or an archive. With a Berksfile, Berkshelf fetches its cookbooks; with a Policyfile, Chef's own command does, and the
 * policy has the run list unless the config has one.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { givenSha256Schema } from '@anneal/contracts/readers/checksum.ts';
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, ConfigError, inputsOf, readChecked, structured, type HostTool } from './tool.ts';

const options = z.object({
  /** Address of a git repository with `cookbooks`, `roles`, `environments`, a Berksfile or a Policyfile. */
  kitchen: z.string().min(1).optional(),
  /** A folder that stays on the host. Without it, a fetched kitchen is in the folder of the run. */
  kitchen_path: z
    .string()
    .regex(/^\/[\w./@+-]+$/, 'must be an absolute path of letters, digits and "._@+-"')
    .optional(),
  /** Address of a gzipped tar archive with the same content, and its SHA-256. */
  archive: z.url().optional(),
  sha256: givenSha256Schema.optional(),
});

/** Inputs that describe the deployment, not the node. */
const ownInputs = /^deploy_(server_id|action|stack_id|resource_name|signal_\w+)$/;

/** The kitchen of a host whose image has one, as heat-agents expect it. */
const usualKitchen = '/var/lib/heat-config/heat-config-chef/kitchen';

export const chef: HostTool = {
  group: 'chef',
  program(request) {
    const chosen = readChecked(request, 'options', options);
    refuseMixed(chosen);
    const isFetched = chosen.kitchen !== undefined || chosen.archive !== undefined;
    const { environment, ...attributes } = toRecord(
      Object.entries(inputsOf(request)).filter(([name]) => !ownInputs.test(name)),
    );
    const run_list = runList(structured(request));
    const node = { ...attributes, ...(run_list.length > 0 && { run_list }) };
    return [
      prologue,
      shell`CHEF_LICENSE=accept-silent
export CHEF_LICENSE
client=$(command -v cinc-client || command -v chef-client) || need cinc-client 'install Cinc or Chef'
kitchen=${chosen.kitchen_path ?? (isFetched ? '$PWD/kitchen' : usualKitchen)}
`,
      chosen.kitchen === undefined ? '' : clone(chosen.kitchen),
      chosen.archive === undefined ? '' : unpack(chosen.archive, chosen.sha256 ?? ''),
      inOneFolder,
      cookbooks(run_list.length > 0),
      writeFile('node.json', asText(node)),
      shell`mkdir -p "$kitchen" nodes
cat >client.rb <<END
local_mode true
chef_zero.enabled true
log_location STDOUT
chef_repo_path "$kitchen"
node_path "$PWD/nodes"
END
if [ -n "$policy" ]; then cat "$kitchen/.chef/config.rb" >>client.rb || exit
else echo "cookbook_path [\"$kitchen/cookbooks\", \"$kitchen/vendor\"]" >>client.rb
fi
exec "$client" --local-mode --no-color --config client.rb ${environment === undefined ? '' : `--environment ${quoteForShell(asText(environment))} `}--json-attributes node.json
`,
    ].join('');
  },
};

function refuseMixed({ kitchen, archive, sha256 }: z.infer<typeof options>): void {
  const mistakes = [
    ...(archive !== undefined && sha256 === undefined ? ['an archive without its sha256'] : []),
    ...(archive === undefined && sha256 !== undefined ? ['a sha256 without an archive'] : []),
    ...(archive !== undefined && kitchen !== undefined ? ['an archive and a kitchen, of which there can be one'] : []),
  ];
  if (mistakes.length > 0) throw new ConfigError(`The options of group chef name ${mistakes.join('; ')}.`);
}

const runListItem = /^(recipe|role)\[[^\]]+\]$|^[\w.:@-]+$/;

/** @throws ConfigError with each entry that is neither a recipe nor a role */
function runList(config: Json): string[] {
  if (!Array.isArray(config))
    throw new ConfigError(
      'The config of group chef must be a run list: a list such as ["recipe[nginx]", "role[web]"].',
    );
  const wrong = config.filter((entry) => typeof entry !== 'string' || !runListItem.test(entry));
  if (wrong.length === 0) return config as string[];
  const shown = wrong.slice(0, 10).map((entry) => JSON.stringify(entry));
  throw new ConfigError(
    `The run list of group chef has ${shown.join(', ')}: an entry is a recipe or a role, such as "recipe[nginx]" or "role[web]".`,
  );
}

const clone = (address: string): string => shell`need git 'the option kitchen is a git repository'
if [ -d "$kitchen/.git" ]; then git -C "$kitchen" pull --ff-only -- ${quoteForShell(address)} HEAD || exit
else git clone -- ${quoteForShell(address)} "$kitchen" || exit
fi
`;

const unpack = (address: string, sha256: string): string => shell`need curl 'the option archive is downloaded with it'
curl --fail --silent --show-error --location --output kitchen.tar.gz -- ${quoteForShell(address)} || exit
echo '${sha256}  kitchen.tar.gz' | sha256sum -c - >/dev/null || { echo 'the archive of cookbooks has another SHA-256' >&2; exit 1; }
mkdir -p "$kitchen" && tar -xzf kitchen.tar.gz -C "$kitchen" || exit
`;

/** Archives of a git server have everything in one folder. */
const inOneFolder = shell`[ -d "$kitchen" ] || { echo "there is no kitchen $kitchen on this host; name one with the option kitchen, archive or kitchen_path" >&2; exit 1; }
is_kitchen() { [ -d "$1/cookbooks" ] || [ -f "$1/Berksfile" ] || [ -f "$1/Policyfile.rb" ]; }
set -- "$kitchen"/*/
if ! is_kitchen "$kitchen" && [ "$#" = 1 ] && is_kitchen "\${1%/}"; then kitchen=\${1%/}; fi
is_kitchen "$kitchen" || { echo "the kitchen $kitchen has no cookbooks, no Berksfile and no Policyfile.rb" >&2; exit 1; }
`;

/** @param hasRunList false when only a policy can have the run list */
const cookbooks = (hasRunList: boolean): string => shell`policy=
if [ -f "$kitchen/Policyfile.rb" ]; then
  tool=$(command -v cinc-cli || command -v chef-cli || command -v cinc || command -v chef) || need chef-cli 'the kitchen has a Policyfile'
  "$tool" install "$kitchen/Policyfile.rb" && "$tool" export --force "$kitchen/Policyfile.rb" "$kitchen/exported" || exit
  kitchen=$kitchen/exported policy=yes
${hasRunList ? '' : `else\n  echo 'the run list is empty, and the kitchen has no Policyfile.rb with one' >&2\n  exit 1\n`}fi
if [ -z "$policy" ] && [ -f "$kitchen/Berksfile" ]; then
  need berks 'the kitchen has a Berksfile'
  berks vendor --berksfile "$kitchen/Berksfile" "$kitchen/vendor" || exit
fi
`;
