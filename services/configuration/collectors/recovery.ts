/**
 * The config that recovers an answer of heat-agents. They notify only once and never run an id again, so an answer that
 * is lost, or a hook that is killed, would leave its deployment waiting until its time limit. Pure.
 *
 * The host runs this config before the unanswered one, which is behind it in the same list:
 *
 * | state on the host | what follows |
 * | --- | --- |
 * | the config never began | nothing; the host runs it next |
 * | its hook has ended | the answer is sent again, from the file that heat-agents keep |
 * | its hook still runs | nothing; a later recovery looks again |
 * | its hook was killed | the host forgets that it began, and runs it next, at most three times in all; with `options.on_interrupt: fail` the answer is a failure, as with Anneal's agent |
 */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';

/** Groups without a hook: os-apply-config reads their data, and another program answers. */
const hookless: ReadonlySet<string> = new Set(['os-apply-config', 'Heat::Ungrouped']);

/** Undefined when heat-agents keep no answer. `attempt` makes each recovery a config of its own. */
export function recoveryOf(request: HostRequest, attempt: number): JsonObject | undefined {
  if (hookless.has(request.group) || !/^[\w-]+$/.test(request.id)) return undefined;
  return {
    id: derivedId(`recovery:${request.id}:${attempt}`),
    name: `${request.name}-recovery-${attempt}`,
    group: 'script',
    config: script(request.id, request.options.on_interrupt === 'fail' ? 1 : mostRuns),
    inputs: [],
    outputs: [],
    options: {},
    creation_time: request.creation_time,
  };
}

/** The status of Anneal's agent for a config that was interrupted. */
const interrupted = {
  deploy_stdout: '',
  deploy_stderr: 'interrupted: its hook ended without an answer (power failure or kill)',
  deploy_status_code: 125,
};
/** As many as Anneal's agent starts a config whose program vanishes. */
const mostRuns = 3;

/** An orphaned 55-heat-config of a killed agent still runs its hook and notifies; so does a hook that names its id. */
const script = (id: string, runs: number): string => `#!/bin/sh
deployed=\${HEAT_CONFIG_DEPLOYED:-/var/lib/heat-config/deployed}
config=$deployed/${id}.json
answer=$deployed/${id}.notify.json
[ -f "$config" ] || exit 0
send() { exec "\${HEAT_CONFIG_NOTIFY:-heat-config-notify}" "$config" <"$answer"; }
if [ -f "$answer" ] && [ "$(tail -c 1 "$answer")" = '}' ]; then send; fi
agents=0
for process in /proc/[0-9]*; do
  line=$({ tr '\\0' ' ' <"$process/cmdline"; } 2>/dev/null)
  case $line in
    *${id}*) exit 0 ;;
    *55-heat-config*) agents=$((agents + 1)) ;;
  esac
done
[ "$agents" -le 1 ] || exit 0
echo run >>"$deployed/${id}.interrupted"
if [ "$(wc -l <"$deployed/${id}.interrupted")" -lt ${runs} ]; then
  rm -f "$config" "$answer"
  exit 0
fi
printf '%s' '${JSON.stringify(interrupted)}' >"$answer"
send
`;
