/** What a management controller does wrong, on demand: for tests of those who depend on it. */
import { z } from 'zod';

export const faultSchema = z.strictObject({
  /** The next n requests are answered 503, with Retry-After. */
  busy: z.number().int().nonnegative().optional(),
  retry_after: z.number().nonnegative().optional(),
  /** Each answer comes this many milliseconds late. */
  slow: z.number().int().nonnegative().optional(),
  /** The next n resets are accepted and not carried out. */
  ignore_resets: z.number().int().nonnegative().optional(),
  /** No answer at all: connections are dropped. A number of milliseconds, or until it is cleared. */
  dark: z.union([z.boolean(), z.number().int().nonnegative()]).optional(),
});
export type Fault = z.infer<typeof faultSchema>;

export class Faults {
  #busy = 0;
  #retryAfter = 1;
  #slow = 0;
  #ignoreResets = 0;
  #darkUntil = 0;

  set(fault: Fault): void {
    if (fault.busy !== undefined) this.#busy = fault.busy;
    if (fault.retry_after !== undefined) this.#retryAfter = fault.retry_after;
    if (fault.slow !== undefined) this.#slow = fault.slow;
    if (fault.ignore_resets !== undefined) this.#ignoreResets = fault.ignore_resets;
    if (fault.dark !== undefined) {
      this.#darkUntil = fault.dark === true ? Infinity : fault.dark === false ? 0 : Date.now() + fault.dark;
    }
  }

  clear(): void {
    this.set({ busy: 0, slow: 0, ignore_resets: 0, dark: false });
  }

  get slowMs(): number {
    return this.#slow;
  }
  get isDark(): boolean {
    return Date.now() < this.#darkUntil;
  }
  /** Seconds to wait, when this request is to be refused. */
  takeBusy(): number | undefined {
    if (this.#busy === 0) return undefined;
    this.#busy -= 1;
    return this.#retryAfter;
  }
  takeIgnoredReset(): boolean {
    if (this.#ignoreResets === 0) return false;
    this.#ignoreResets -= 1;
    return true;
  }
  show(): object {
    return { busy: this.#busy, slow: this.#slow, ignore_resets: this.#ignoreResets, dark: this.isDark };
  }
}
