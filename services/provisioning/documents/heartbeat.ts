/**
 * The heartbeats of a machine in the ramdisk. Pure.
 *
 * H1 Heartbeats arrive late, twice or not at all. The clock of the machine orders them, and a phase never goes back, so one that is
 *    not newer than the last changes nothing.
 * H2 A machine cannot make the node be written more often than every `leastMs` and at each new phase.
 * H3 Only more bytes, or a new phase, are progress. Progress moves the limit of the wait, and never beyond its total limit.
 */
import {
  bootPhases,
  bytesText,
  percentOf,
  type BootPhase,
  type NodeProgress,
} from '@anneal/contracts/node-progress.ts';

/** The last heartbeat of a boot. */
export interface Heartbeat {
  readonly phase: BootPhase;
  readonly bytes: number;
  readonly total: number;
  readonly uptime_ms: number;
  readonly problem?: string;
  /** Bytes in a second. Absent until two heartbeats of the phase show it. */
  readonly rate?: number;
  readonly since: string;
  readonly at: string;
  readonly moved_at: string;
  /** When an event last had it. */
  readonly published_at: string;
}

/** A heartbeat as it arrives. */
export interface SentHeartbeat {
  readonly phase: BootPhase;
  readonly bytes: number;
  readonly total: number;
  readonly uptime_ms: number;
  readonly problem?: string | undefined;
}

/** H2. Machines send one in 10 seconds. */
const leastMs = 4_000;
/** An event of a phase follows the one before after this time. */
const eventMs = 30_000;
/** The weight of the newest rate. */
const newest = 0.3;

/** The heartbeat to store after one that arrives. Undefined when it changes nothing. */
export function afterHeartbeat(before: Heartbeat | undefined, sent: SentHeartbeat, now: number): Heartbeat | undefined {
  const at = new Date(now).toISOString();
  const { phase, bytes, total, uptime_ms, problem } = sent;
  const common = { phase, bytes, total, uptime_ms, at, ...(problem !== undefined && { problem }) };
  const begun = { ...common, since: at, moved_at: at, published_at: at };
  if (!before) return begun;
  if (uptime_ms <= before.uptime_ms || bootPhases.indexOf(phase) < bootPhases.indexOf(before.phase)) return undefined;
  if (phase !== before.phase) return begun;
  if (now - Date.parse(before.at) < leastMs) return undefined;
  const rate = rateAfter(before, sent);
  return {
    ...common,
    ...(rate !== undefined && { rate }),
    since: before.since,
    moved_at: bytes > before.bytes ? at : before.moved_at,
    published_at: now - Date.parse(before.published_at) >= eventMs ? at : before.published_at,
  };
}

/** A download that begins again has fewer bytes, and no rate yet. */
function rateAfter(before: Heartbeat, { bytes, uptime_ms }: SentHeartbeat): number | undefined {
  if (bytes < before.bytes) return undefined;
  const last = ((bytes - before.bytes) * 1000) / (uptime_ms - before.uptime_ms);
  return before.rate === undefined ? last : before.rate * (1 - newest) + last * newest;
}

/** The heartbeat as readers see it. */
export function progressOf(heartbeat: Heartbeat, image: string | null): NodeProgress {
  const { phase, bytes, total, rate, since, at, moved_at, problem = null } = heartbeat;
  const left = rate === undefined || rate <= 0 ? null : Math.ceil(Math.max(0, total - bytes) / rate);
  return {
    phase,
    image: phase === 'erasing' ? null : image,
    bytes,
    total,
    bytes_per_second: rate === undefined ? null : Math.round(rate),
    // A machine that has nearly stopped shows no time of years.
    seconds_left: left !== null && left < 30 * 86_400 ? left : null,
    since,
    at,
    moved_at,
    problem,
  };
}

export interface HeartbeatLimits {
  readonly stallMs: number;
  readonly totalMs: number;
}

/**
 * H3. The deadline of a wait after a heartbeat. A deployment ends `stallMs` after its last progress. A cleaning keeps the time that
 * it has, because a disk that erases itself reports nothing.
 */
export function deadlineAfter(
  { moved_at }: Pick<Heartbeat, 'moved_at'>,
  options: HeartbeatLimits & { readonly deadline: number; readonly since: string; readonly purpose: string },
): number {
  const { deadline, since, purpose, stallMs, totalMs } = options;
  const next = Math.min(Date.parse(moved_at) + stallMs, Date.parse(since) + totalMs);
  return purpose === 'deploy' ? next : Math.max(deadline, next);
}

const pastTexts: Readonly<Record<BootPhase, string>> = {
  writing: 'wrote',
  checking: 'read back',
  comparing: 'fetched again',
  erasing: 'overwrote',
};

/** E.g. `wrote 412 MiB of 902 MiB (45 %)`. */
export const doneText = (heartbeat: Heartbeat): string =>
  `${pastTexts[heartbeat.phase]} ${bytesText(heartbeat.bytes)} of ${bytesText(heartbeat.total)} (${percentOf(heartbeat)} %)`;
