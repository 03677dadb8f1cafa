/**
 * Containers with Podman or Docker, in the form of heat-agents' `docker-cmd`: a map from names to containers.
 *
 * C1 A container that runs with the same description is left alone.
 * C2 Of a changed one, the new container is created first, which fetches its image. Without published ports it starts
 *    beside the old one, which ends when the new one is healthy. With published ports the old one stops first.
 * C3 When the new container does not start or does not become healthy, the old one runs again and the config fails.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { prologue, quoteForShell, shell } from './shell.ts';
import { asText, inputsOf, readChecked, type HostTool } from './tool.ts';

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const texts = z.union([text.transform((value) => [value]), z.array(text)]);
/** A list of `NAME=value`, or a map. */
const pairs = z.union([
  z.array(text),
  z.record(z.string(), text).transform((map) => Object.entries(map).map(([name, value]) => `${name}=${value}`)),
]);

const container = z.strictObject({
  image: z.string().min(1).optional(),
  /** `run` starts a container, `exec` runs a command in one that runs. */
  action: z.enum(['run', 'exec']).default('run'),
  command: texts.default([]),
  environment: pairs.default([]),
  env_file: texts.default([]),
  ports: texts.default([]),
  volumes: texts.default([]),
  volumes_from: texts.default([]),
  labels: pairs.default([]),
  net: z.string().optional(),
  pid: z.string().optional(),
  user: text.optional(),
  privileged: z.boolean().default(false),
  restart: z.string().default('no'),
  /** False: the config waits for its end, and its exit status counts. */
  detach: z.boolean().default(true),
  exit_codes: z.array(z.number().int()).default([0]),
  start_order: z.number().default(0),
  /** Seconds in which it must become healthy: its health check, or else that it still runs after a second. */
  healthy_within: z.number().int().positive().default(60),
});
type Container = z.infer<typeof container>;
const config = z.record(
  z
    .string()
    .regex(/^[a-zA-Z0-9][\w.-]*$/, 'must begin with a letter or digit and hold letters, digits, ".", "_" and "-"'),
  container.refine(({ action, image }) => action === 'exec' || image !== undefined, 'needs an image'),
);

const engines = ['podman', 'docker'] as const;
const options = z.object({ engine: z.enum(engines).optional() });

const makeTool = (group: string): HostTool => ({
  group,
  program(request) {
    const { engine } = readChecked(request, 'options', options);
    const containers = Object.entries(readChecked(request, 'config', config)).toSorted(
      ([, a], [, b]) => a.start_order - b.start_order,
    );
    const names = containers.map(([name]) => name);
    const owner = asText(inputsOf(request).deploy_resource_name ?? request.name);
    const steps = containers.map(([name, described]) =>
      described.action === 'exec'
        ? execute(described)
        : described.detach
          ? keep(name, described)
          : runOnce(name, described),
    );
    return [
      prologue,
      findEngine(engine),
      `owner=${quoteForShell(`${asText(inputsOf(request).deploy_stack_id)}/${owner}`)}\n`,
      helpers,
      ...(request.action === 'DELETE' ? [] : steps),
      // Remove the containers of an earlier config of this deployment that this one does not name.
      removeOthers(request.action === 'DELETE' ? [] : names),
      'exit "$failed"\n',
    ].join('');
  },
});

const findEngine = (engine: string | undefined): string =>
  engine === undefined
    ? shell`if command -v podman >/dev/null 2>&1; then engine=podman; else engine=docker; fi
need "$engine" 'install Podman or Docker'
`
    : `engine=${engine}\nneed ${engine} 'or remove the option engine, which requires it'\n`;

const helpers = shell`failed=0
of_name() { "$engine" ps --all --quiet --filter label=anneal.owner="$owner" --filter label=anneal.name="$1"; }
# True when the container is healthy, or has no health check and still runs after a second.
healthy() {
  waited=0
  while :; do
    state=$("$engine" inspect --format '{{.State.Running}} {{if .State.Health}}{{.State.Health.Status}}{{end}}' "$1" 2>/dev/null || echo false)
    case "$state" in
      'true healthy') return 0 ;;
      'true ' | 'true <no value>') [ "$waited" -ge 1 ] && return 0 ;;
      true*) ;;
      *) return 1 ;;
    esac
    [ "$waited" -ge "$2" ] && return 1
    sleep 1
    waited=$((waited + 1))
  done
}
fail() { echo "$1" >&2; failed=1; }
`;

/** Identifies a description: a container that was started from the same one has the same digest. */
const digestOf = (described: Container): string =>
  createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 12);

/** The arguments of `create` and `run`, after the name. */
function flagsOf(name: string, described: Container): string {
  const flags = [
    ...described.env_file.map((file) => `--env-file=${file}`),
    ...described.environment.map((pair) => `--env=${pair}`),
    ...described.ports.map((port) => `--publish=${port}`),
    ...described.volumes.map((volume) => `--volume=${volume}`),
    ...described.volumes_from.map((other) => `--volumes-from=${other}`),
    ...described.labels.map((label) => `--label=${label}`),
    `--label=anneal.name=${name}`,
    `--label=anneal.digest=${digestOf(described)}`,
    ...(described.net === undefined ? [] : [`--net=${described.net}`]),
    ...(described.pid === undefined ? [] : [`--pid=${described.pid}`]),
    ...(described.user === undefined ? [] : [`--user=${described.user}`]),
    ...(described.privileged ? ['--privileged'] : []),
  ];
  return `--label=anneal.owner="$owner" ${[...flags, described.image ?? '', ...described.command].map(quoteForShell).join(' ')}`;
}

function keep(name: string, described: Container): string {
  const full = quoteForShell(`${name}-${digestOf(described)}`);
  return shell`
# ${name}
old=$(of_name ${name} | tr '\n' ' ')
new=$("$engine" ps --quiet --filter label=anneal.owner="$owner" --filter label=anneal.digest=${digestOf(described)})
if [ -n "$new" ] && [ "$new" = "\${old% }" ]; then
  echo ${quoteForShell(`${name}: unchanged`)}
else
  "$engine" rm --force ${full} >/dev/null 2>&1
  old=$(of_name ${name} | tr '\n' ' ')
  if ! "$engine" create --name ${full} ${`--restart=${quoteForShell(described.restart)}`} ${flagsOf(name, described)} >/dev/null; then
    fail ${quoteForShell(`${name}: the container could not be created; the old one, if any, still runs`)}
  else
    ${described.ports.length > 0 ? '[ -z "$old" ] || "$engine" stop $old >/dev/null' : ': "The old one ends when the new one is healthy."'}
    if "$engine" start ${full} >/dev/null && healthy ${full} ${String(described.healthy_within)}; then
      [ -z "$old" ] || "$engine" rm --force $old >/dev/null
      echo ${quoteForShell(`${name}: started ${name}-${digestOf(described)}`)}
    else
      "$engine" logs --tail 50 ${full} >&2
      "$engine" rm --force ${full} >/dev/null
      [ -z "$old" ] || "$engine" start $old >/dev/null
      fail ${quoteForShell(`${name}: the new container did not start or did not become healthy; the old one, if any, runs`)}
    fi
  fi
fi
`;
}

const runOnce = (name: string, described: Container): string => shell`
# ${name}
"$engine" run --rm ${flagsOf(name, described)}
${checkStatus(name, described)}`;

function execute(described: Container): string {
  const [name = '', ...command] = described.command;
  const flags = [
    ...(described.user === undefined ? [] : [quoteForShell(`--user=${described.user}`)]),
    ...(described.privileged ? ['--privileged'] : []),
    ...described.environment.map((pair) => quoteForShell(`--env=${pair}`)),
  ];
  return shell`
"$engine" exec ${flags.join(' ')} "$(of_name ${quoteForShell(name)} | head -n 1)" ${command.map(quoteForShell).join(' ')}
${checkStatus(`exec in ${name}`, described)}`;
}

const checkStatus = (name: string, { exit_codes }: Container): string => shell`status=$?
case "$status" in ${exit_codes.join(' | ')}) ;; *) fail ${quoteForShell(`${name}: ended with`)}" $status" ;; esac
`;

const removeOthers = (names: readonly string[]): string => shell`
for found in $("$engine" ps --all --quiet --filter label=anneal.owner="$owner"); do
  name=$("$engine" inspect --format '{{index .Config.Labels "anneal.name"}}' "$found")
  case "$name" in ${names.length > 0 ? names.join(' | ') : "''"}) continue ;; esac
  "$engine" rm --force "$found" >/dev/null && echo "$name: removed"
done
`;

export const containerTools: readonly HostTool[] = [makeTool('container'), makeTool('docker-cmd')];
