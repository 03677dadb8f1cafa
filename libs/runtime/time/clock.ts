/**
 * The clock of a process: wall-clock time that never jumps.
 *
 * Deadlines are stored as wall-clock time, so that every replica and every restart can read them. Waits last as long as the
 * monotonic clock measures. The two disagree when the wall clock is set: by an operator, by NTP, or when a virtual machine is
 * resumed elsewhere. Without correction, a step forward would time out everything in progress, and a step back would delay it.
 *
 * K1 A step of the wall clock does not change what `now` returns. The step becomes the skew: wall clock minus this clock.
 * K2 The skew shrinks by a tenth of the time that passes, so this clock returns to the wall clock and never runs backwards.
 * K3 Time asleep (suspend) is real time and no step: deadlines that passed meanwhile have passed.
 */

/** Readings of one instant, all in milliseconds. */
export interface ClockReading {
  /** Since the epoch, as the machine is set. */
  readonly wall: number;
  /** Since the boot of the machine, without time asleep; the same for all processes of one boot. */
  readonly monotonic: number;
}

/** The state with which a restart notices a step that happened while no process ran. */
export interface ClockRecord extends ClockReading {
  /** Identifies the boot: monotonic readings of two boots do not compare. */
  readonly boot: string;
  readonly asleep: number;
  readonly skew: number;
}

/** The sources of a clock. */
export interface ClockParts {
  readonly boot: string;
  readonly read: () => ClockReading;
  /** Milliseconds that the machine has slept since its boot; 0 where it does not report them. */
  readonly asleep: () => number;
  /** The record of the process before this one on the same machine. */
  readonly before?: ClockRecord | undefined;
  /** Called after each step, with the step and the skew that follows from it in milliseconds. */
  readonly onStep: (step: { stepMs: number; skewMs: number }) => void;
}

/** Differences up to this follow the wall clock at once: NTP adjusts that much without a step. */
const smallestStepMs = 500;
/** NTP slews by at most 0.05 %; the rest is slack for the quartz. */
const driftPerMs = 0.001;
const absorbedPerMs = 0.1;
/** A process starts with the wall clock when it is further off than this: such a clock was wrong before. */
const largestKeptMs = 24 * 3_600_000;

/** The time of this process. It never runs backwards, also when the system clock is set. */
export class Clock {
  readonly #parts: ClockParts;
  #last: ClockReading;
  #asleep: number;
  #skew: number;
  #latest = -Infinity;

  constructor(parts: ClockParts) {
    this.#parts = parts;
    this.#last = parts.read();
    this.#asleep = parts.asleep();
    this.#skew = parts.before ? skewAfter(parts.before, this.record()) : 0;
  }

  /** Milliseconds since the epoch. Any call notices a step that happened since the call before. */
  now(): number {
    const reading = this.#parts.read();
    const passed = Math.max(0, reading.monotonic - this.#last.monotonic);
    const divergence = reading.wall - this.#last.wall - passed;
    this.#last = reading;
    this.#skew = absorb(this.#skew, passed);
    if (isStep(divergence, passed)) this.#takeStep(divergence);
    this.#latest = Math.max(this.#latest, Math.floor(reading.wall - this.#skew));
    return this.#latest;
  }

  /** Milliseconds by which the wall clock is ahead of this clock; negative when it is behind. */
  get skewMs(): number {
    return this.#skew;
  }

  record(): ClockRecord {
    return { boot: this.#parts.boot, asleep: this.#asleep, skew: this.#skew, ...this.#last };
  }

  /** K3. Reads the machine's time asleep only here, because that reads a file. */
  #takeStep(divergence: number): void {
    const asleep = this.#parts.asleep();
    const stepMs = divergence - (asleep - this.#asleep);
    this.#asleep = asleep;
    if (!isStep(stepMs, 0)) return;
    this.#skew += stepMs;
    this.#parts.onStep({ stepMs, skewMs: this.#skew });
  }
}

const isStep = (divergence: number, passed: number): boolean =>
  Math.abs(divergence) > smallestStepMs + passed * driftPerMs;

const absorb = (skew: number, passed: number): number =>
  Math.sign(skew) * Math.max(0, Math.abs(skew) - passed * absorbedPerMs);

/** The skew at a start: the skew of the process before, plus a step that happened between the two. */
function skewAfter(before: ClockRecord, now: ClockRecord): number {
  const sameBoot = before.boot === now.boot && now.monotonic >= before.monotonic;
  const passed = sameBoot ? now.monotonic - before.monotonic : Math.max(0, now.wall - before.wall);
  const divergence = sameBoot ? now.wall - before.wall - passed - (now.asleep - before.asleep) : 0;
  const skew = absorb(before.skew, passed) + (isStep(divergence, passed) ? divergence : 0);
  return Math.abs(skew) > largestKeptMs ? 0 : skew;
}
