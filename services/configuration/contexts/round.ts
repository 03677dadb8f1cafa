/**
 * Decides about the runs of a context's configs on its members, from its current version. Pure.
 *
 * C1 On each member that is up, the configs run in their order; the first that failed ends the row.
 * C2 A run that its host has not taken yet is replaced by the run for the newest version.
 * C3 A run that its host has taken ends first; then one run follows, for the version that is the newest then.
 * C4 A failed run is repeated for a new version, a changed config or a new request for the context, and not otherwise.
 */
import type { ContextFailure, ContextMember } from '@anneal/contracts/calls/context.ts';

export interface RoundConfig {
  /** Unique within the context. */
  readonly name: string;
  /** Undefined: all. */
  readonly roles?: readonly string[];
  /** Digest of the config with its own values. */
  readonly digest: string;
}

/** The run of one config on one host, as stored. */
export interface KnownRun {
  /** The id of its deployment. */
  readonly id: string;
  readonly status: 'IN_PROGRESS' | 'COMPLETE' | 'FAILED' | 'SKIPPED';
  /** Version and config that it applies. */
  readonly key: string;
  /** The request for the context that it began under. */
  readonly fence: number;
  /** Its host has taken it from the queue. */
  readonly taken: boolean;
  readonly reason: string;
  /** The version of its document that the round decides from. */
  readonly seen: number;
}

export interface Round {
  readonly start: readonly {
    readonly id: string;
    readonly member: ContextMember;
    readonly config: RoundConfig;
    /** The version of the document of the run before it; undefined without one. */
    readonly seen: number | undefined;
  }[];
  /** Runs to take out of the queues: their members have left, are silent, or no longer have the config. */
  readonly cancel: readonly string[];
  /** Deployments that no longer belong to the context. */
  readonly remove: readonly string[];
  /** Names of the members that have not run everything. */
  readonly pending: readonly string[];
  readonly failures: readonly ContextFailure[];
}

export const roundKey = (version: number, config: RoundConfig): string => `${version}.${config.digest}`;

export function planRound(options: {
  version: number;
  fence: number;
  members: readonly ContextMember[];
  configs: readonly RoundConfig[];
  runs: ReadonlyMap<string, KnownRun>;
  /** The id of the deployment of a config on a host. */
  idOf: (config: RoundConfig, host: string) => string;
}): Round {
  const { version, fence, members, configs, runs, idOf } = options;
  const start: Round['start'][number][] = [];
  const cancel: string[] = [];
  const pending: string[] = [];
  const failures: ContextFailure[] = [];
  const wanted = new Set<string>();
  for (const member of members) {
    const row = configs.filter(({ roles }) => !roles || roles.some((role) => member.roles.includes(role)));
    for (const config of row) wanted.add(idOf(config, member.host));
    if (member.state === 'silent') {
      // Its return is a new version, so it must not run this one first.
      for (const config of row) {
        const run = runs.get(idOf(config, member.host));
        if (run?.status === 'IN_PROGRESS' && !run.taken) cancel.push(run.id);
      }
      continue;
    }
    for (const config of row) {
      const id = idOf(config, member.host);
      const next = nextOf(runs.get(id), { key: roundKey(version, config), fence });
      if (next === 'done') continue;
      if (next === 'start') start.push({ id, member, config, seen: runs.get(id)?.seen });
      if (next === 'failed') {
        const reason = runs.get(id)?.reason ?? '';
        failures.push({ member: member.name, host: member.host, config: config.name, deployment_id: id, reason });
      } else pending.push(member.name);
      break;
    }
  }
  const remove = [...runs.keys()].filter((id) => !wanted.has(id));
  const left = remove.filter((id) => runs.get(id)?.status === 'IN_PROGRESS');
  return { start, cancel: [...cancel, ...left], remove, pending, failures };
}

function nextOf(run: KnownRun | undefined, now: { key: string; fence: number }): 'start' | 'wait' | 'done' | 'failed' {
  if (!run) return 'start';
  const isNewest = run.key === now.key;
  switch (run.status) {
    case 'IN_PROGRESS':
      return isNewest || run.taken ? 'wait' : 'start'; // C2, C3
    case 'COMPLETE':
      return isNewest ? 'done' : 'start';
    case 'FAILED':
      return isNewest && run.fence >= now.fence ? 'failed' : 'start'; // C4
    case 'SKIPPED':
      return 'start';
  }
}
