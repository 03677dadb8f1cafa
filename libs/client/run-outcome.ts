/** The outcome of a command on many hosts: distinct answers, and the hosts without one. Pure. */
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';

/** Hosts that gave the same answer. */
export interface AnswerGroup {
  readonly status_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly hosts: readonly string[];
}

/** The distinct answers to a command, and the hosts without one. */
export interface CommandOutcome {
  readonly groups: readonly AnswerGroup[];
  readonly answered: readonly string[];
  /** They took the command and did not answer in time, or answered after the limit. */
  readonly late: readonly string[];
  /** They did not take the command. */
  readonly silent: readonly { readonly host: string; readonly state: string }[];
  /** Reports that are not valid, and answers that no run waits for. */
  readonly unexpected: readonly { readonly host: string; readonly kind: string; readonly reason: string }[];
  /** True when every host answered with exit status 0. */
  readonly ok: boolean;
}

/**
 * Groups the answers of ended deployments.
 * @param ended one deployment per host
 * @param since the start of the command: older reports of the hosts do not count
 */
export function outcomeOfCommand(
  ended: readonly DeploymentView[],
  { hosts, since }: { hosts: readonly HostView[]; since: string },
): CommandOutcome {
  const answered = ended.filter(({ answer_state }) => answer_state === 'answered' || answer_state === 'failed');
  const rest = ended.filter((each) => !answered.includes(each));
  const refused = rest.filter(({ answer_state }) => answer_state === 'refused');
  const late = rest.filter(({ answer_state }) => answer_state === 'started');
  const silent = rest.filter((each) => !refused.includes(each) && !late.includes(each));
  const ids = new Set(ended.map(({ id }) => id));
  const reports = hosts.flatMap((host) =>
    (host.unexpected_answers ?? [])
      .filter(({ last_at, deployment_id }) => last_at >= since && (deployment_id === null || ids.has(deployment_id)))
      .map(({ kind, reason }) => ({ host: host.name, kind, reason })),
  );
  return {
    groups: groupsOf(answered),
    answered: names(answered),
    late: [...new Set([...names(late), ...reports.filter(({ kind }) => kind === 'late').map(({ host }) => host)])],
    silent: silent.map(({ host_name, answer_state }) => ({ host: host_name, state: answer_state ?? 'none' })),
    unexpected: [
      ...refused.map(({ host_name, reason }) => ({ host: host_name, kind: 'refused', reason })),
      ...reports.filter(({ kind }) => kind !== 'late'),
    ],
    ok: ended.every(({ answer_state }) => answer_state === 'answered'),
  };
}

const names = (deployments: readonly DeploymentView[]): string[] =>
  deployments.map(({ host_name }) => host_name).toSorted();

/** The largest group first; groups of one size in the order of their hosts. */
function groupsOf(answered: readonly DeploymentView[]): AnswerGroup[] {
  const byAnswer = Map.groupBy(answered, ({ status_code, stdout, stderr }) =>
    JSON.stringify([status_code, stdout, stderr]),
  );
  return [...byAnswer.values()]
    .flatMap((group): AnswerGroup[] => {
      const [first] = group;
      if (first?.status_code == null) return [];
      const { status_code, stdout, stderr } = first;
      return [{ status_code, stdout, stderr, hosts: names(group) }];
    })
    .toSorted((a, b) => b.hosts.length - a.hosts.length || ((a.hosts[0] ?? '') < (b.hosts[0] ?? '') ? -1 : 1));
}

/** Answers that end in the same moment are stored one after the other, so questions overlap by this time. */
const overlapMs = 5000;
/**
 * Each tenth question asks for all, because the time of an end is that of the host: its clock may be behind, and its
 * answer may come late.
 */
const allEvery = 10;

/**
 * The time after which to list what has ended, for a client that knows some deployments of a run already: a run may have
 * thousands of answers, with the output of each.
 *
 * @param asked how many questions the client has asked before
 */
export function endedAfter(known: Iterable<Pick<DeploymentView, 'finished_at'>>, asked: number): string | undefined {
  if (asked % allEvery === 0) return undefined;
  let latest = -Infinity;
  for (const { finished_at: at } of known) if (at !== null) latest = Math.max(latest, Date.parse(at));
  return latest === -Infinity ? undefined : new Date(latest - overlapMs).toISOString();
}
