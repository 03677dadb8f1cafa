/** Ansible playbooks, with the options of heat-agents' hook, and roles and collections from a requirements file. */
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, commaList, inputsOf, readChecked, type HostTool } from './tool.ts';

const options = z.object({
  tags: commaList.optional(),
  skip_tags: commaList.optional(),
  modulepath: z.string().optional(),
  callback_plugins: z.string().optional(),
  inventory: z.string().optional(),
  /** Content of a requirements file for ansible-galaxy: roles and collections, from Galaxy or from git. */
  requirements: z.union([z.string(), z.array(z.json()), z.record(z.string(), z.json())]).optional(),
});

export const ansible: HostTool = {
  group: 'ansible',
  program(request) {
    const { tags, skip_tags, modulepath, callback_plugins, inventory, requirements } = readChecked(
      request,
      'options',
      options,
    );
    const flags = [
      '-i',
      inventory ?? 'inventory',
      ...(tags === undefined ? [] : ['--tags', tags]),
      ...(skip_tags === undefined ? [] : ['--skip-tags', skip_tags]),
      ...(modulepath === undefined ? [] : ['--module-path', modulepath]),
    ];
    const variables = JSON.stringify({ ...inputsOf(request), heat_config_id: request.id });
    return [
      prologue,
      `need ansible-playbook 'install ansible-core (pip install ansible-core, or your distribution’s package)'\n`,
      writeFile('playbook.yaml', asText(request.config)),
      writeFile('variables.json', variables),
      writeFile('inventory', thisHost),
      requirements === undefined ? '' : galaxy(asText(requirements)),
      callback_plugins === undefined ? '' : `export ANSIBLE_CALLBACK_PLUGINS=${quoteForShell(callback_plugins)}\n`,
      shell`export ANSIBLE_NOCOLOR=1 ANSIBLE_RETRY_FILES_ENABLED=0 ANSIBLE_LOCALHOST_WARNING=0
export ANSIBLE_ROLES_PATH="$PWD/roles:\${ANSIBLE_ROLES_PATH:-$HOME/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles}"
export ANSIBLE_COLLECTIONS_PATH="$PWD/collections:\${ANSIBLE_COLLECTIONS_PATH:-$HOME/.ansible/collections:/usr/share/ansible/collections}"
exec ansible-playbook ${flags.map(quoteForShell).join(' ')} --extra-vars @variables.json --extra-vars "heat_outputs_path='$heat_outputs_path'" playbook.yaml
`,
    ].join('');
  },
};

/** The host itself, as Ansible describes it without an inventory: modules run with the Python that runs Ansible. */
const thisHost = 'localhost ansible_connection=local ansible_python_interpreter="{{ ansible_playbook_python }}"';

/** A requirements file may list roles, collections or both; ansible-galaxy installs each kind with a command of its own. */
const galaxy = (requirements: string): string => shell`${writeFile('requirements.yaml', requirements)}
need ansible-galaxy 'it is a part of ansible-core'
ansible-galaxy role install -r requirements.yaml -p roles || exit
if grep -q '^ *"\{0,1\}collections' requirements.yaml; then
  ansible-galaxy collection install -r requirements.yaml -p collections || exit
fi
`;
