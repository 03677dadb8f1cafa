/** Salt states without a master, as heat-agents' hook applies them. */
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, inputsOf, readChecked, type HostTool } from './tool.ts';

const options = z.object({
  /** Data for `pillar`, beside the inputs. */
  pillar: z.record(z.string(), z.json()).default({}),
  /** Reports what would change, and changes nothing. */
  test: z.boolean().default(false),
});

export const salt: HostTool = {
  group: 'salt',
  program(request) {
    const { pillar, test } = readChecked(request, 'options', options);
    const inputs = inputsOf(request);
    const minion = JSON.stringify({ ...inputs, file_client: 'local', fileserver_backend: ['roots'] }).slice(1, -1);
    const flags = [quoteForShell(`pillar=${JSON.stringify({ ...inputs, ...pillar })}`), ...(test ? ['test=True'] : [])];
    const wantsReturn = request.outputs.some(({ name }) => name === 'return');
    return [
      prologue,
      `need salt-call 'install Salt (pip install salt, or the package salt-minion)'\n`,
      'mkdir -p conf states\n',
      writeFile('states/config.sls', asText(request.config)),
      writeFile('inputs.json', minion),
      shell`# The options of the host come first; those of this config win.
(umask 077
  [ -f /etc/salt/minion ] && include='"include": "/etc/salt/minion", ' || include=
  printf '{%s"root_dir": "%s", "id": "%s", "file_roots": {"base": ["%s/states"]}, ' "$include" "$PWD" "$(hostname)" "$PWD" >conf/minion
  cat inputs.json >>conf/minion
  echo '}' >>conf/minion) || exit
`,
      wantsReturn
        ? shell`salt-call --local --config-dir "$PWD/conf" --log-level warning --no-color --retcode-passthrough \
  --out json --out-file "$heat_outputs_path.return" state.apply config ${flags.join(' ')}
status=$?
cat "$heat_outputs_path.return"
exit "$status"
`
        : shell`exec salt-call --local --config-dir "$PWD/conf" --log-level warning --no-color --retcode-passthrough \
  state.apply config ${flags.join(' ')}
`,
    ].join('');
  },
};
