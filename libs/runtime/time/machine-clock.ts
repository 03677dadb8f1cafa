/** The clock of this machine, kept in the store, so that successive processes of one machine agree about the time. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Store } from '@anneal/store/port.ts';
import { Clock, type ClockRecord, type ClockReading } from './clock.ts';

/** The clock of this machine, running. */
export interface MachineClock {
  /** @see Clock.now */
  readonly now: () => Date;
  /** Milliseconds by which the wall clock is ahead. */
  readonly skewMs: () => number;
  /** Writes the record a last time. */
  stop(): Promise<void>;
}

/** The metrics of the clock. */
export const clockMetrics = {
  skew: {
    name: 'anneal_clock_skew_seconds',
    help: 'How far the system clock is ahead of the time that Anneal uses; not 0 after the system clock was set.',
  },
};

interface ClockDocument extends ClockRecord {
  /** The name of the machine. */
  readonly id: string;
  readonly version: number;
}

/** No machine that runs this was set up earlier, so an earlier time means that the clock was never set. */
const earliest = Date.UTC(2025, 0, 1);

/**
 * @throws AnnealError Unavailable while the system clock was never set, because every deadline stored then would be
 * wrong.
 */
export async function openMachineClock(options: {
  store: Pick<Store, 'collection'>;
  log: { warn(facts: object, text: string): void };
}): Promise<MachineClock> {
  const { store, log } = options;
  if (Date.now() < earliest) {
    throw new AnnealError(
      'Unavailable',
      `The system clock of ${hostname()} shows ${new Date().toISOString()}. Set it (timedatectl set-ntp true), then start again.`,
    );
  }
  const records = await store.collection<ClockDocument>({ name: 'runtime_clocks', indexes: [] });
  let writing: Promise<unknown> = Promise.resolve();
  const write = (): void => {
    const document = { id: hostname(), ...clock.record() };
    writing = writing
      .then(() => records.bulk([{ kind: 'put', document }]))
      .catch((error: unknown) =>
        log.warn({ err: error }, 'clock record not written; retrying at the next clock step or stop'),
      );
  };
  const clock = new Clock({
    boot: bootId(),
    read,
    asleep,
    before: await records.get(hostname()),
    onStep({ stepMs, skewMs }) {
      log.warn(
        { step_seconds: Math.round(stepMs / 1000), skew_seconds: Math.round(skewMs / 1000) },
        'the system clock was set; deadlines and timers keep their remaining time, and timestamps follow gradually',
      );
      // Not within the call that noticed the step.
      setImmediate(write);
    },
  });
  write();
  return {
    now: () => new Date(clock.now()),
    skewMs: () => clock.skewMs,
    async stop() {
      clock.now();
      write();
      await writing;
    },
  };
}

/** The offset from the process's monotonic clock to the machine's. */
const sinceBoot = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

/** Reads both clocks at one instant, and again when the process was interrupted between the two. */
function read(): ClockReading {
  for (let tries = 1; ; tries++) {
    const before = performance.now();
    const wall = Date.now();
    const after = performance.now();
    if (after - before < 1 || tries === 5) return { wall, monotonic: sinceBoot + after };
  }
}

/** Linux's uptime counts time asleep, its monotonic clock does not. */
function asleep(): number {
  try {
    const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000;
    return Math.max(0, uptime - sinceBoot - performance.now());
  } catch {
    return 0;
  }
}

/** Without a boot id, every start counts as a new boot. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `${process.pid}-${sinceBoot}`;
  }
}
