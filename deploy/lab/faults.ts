/** The misbehaviour of one management controller, on command: for tests of the programs that depend on it. */
import { z } from 'zod';
import { personalities, type Personality, type PersonalityName } from './personalities.ts';

/** Wrong answers on command. `hang` accepts the request and never answers. `half` ends in the middle of its body. */
export const falseAnswers = ['hang', 'half', 'garbage', 'html', 'empty', 'deep', 'unauthorized', 'error'] as const;
export type FalseAnswer = (typeof falseAnswers)[number];

const count = z.number().int().nonnegative();

export const faultSchema = z.strictObject({
  /** The next n requests are answered 503, with Retry-After. */
  busy: count.optional(),
  retry_after: z.number().nonnegative().optional(),
  /** Each answer is delayed by this many milliseconds. */
  slow: count.optional(),
  /** Each answer is sent byte by byte, with a pause of this many milliseconds after each byte. 0 clears the fault. */
  drip: count.optional(),
  /** Every request gets this answer. Null clears the fault. */
  answer: z.enum(falseAnswers).nullable().optional(),
  /** The next n resets are accepted and not carried out. */
  ignore_resets: count.optional(),
  /** The next n resets are accepted and fail. A reset that is answered with a task reports its failure in the task. */
  fail_resets: count.optional(),
  /** The next n images are accepted and not mounted. */
  ignore_media: count.optional(),
  /** The machine hangs in its firmware after the next n reboots that its own system orders. */
  hang_reboots: count.optional(),
  /** A mounted image is lost at the next reset. */
  drop_media: z.boolean().optional(),
  /** The reported power state: this constant, or with `stale` the state at the time of the command. Null clears it. */
  power: z
    .union([z.enum(['On', 'Off', 'PoweringOn', 'PoweringOff']), z.literal('stale')])
    .nullable()
    .optional(),
  /** Another machine answers at this address: the UUID of its system and controller. Null clears the fault. */
  uuid: z.string().nullable().optional(),
  /** Tasks carry out their work and never end. */
  endless_tasks: z.boolean().optional(),
  /** Properties that the system reports instead of the true ones. Null clears the fault. */
  system: z.record(z.string(), z.unknown()).nullable().optional(),
  /** Readings that sensors show instead of the true ones, by the id of the sensor. Null clears the fault. */
  sensors: z.record(z.string(), z.number()).nullable().optional(),
  /**
   * Wrong handling of ETags: `refused` refuses every tag that a change names; `required` requires one, and shows tags only in
   * the documents. Null clears the fault.
   */
  etags: z.enum(['refused', 'required']).nullable().optional(),
  /** The habits of another controller. Null clears the fault. */
  personality: z
    .enum(Object.keys(personalities) as PersonalityName[])
    .nullable()
    .optional(),
  /** The machine boots a ramdisk with the script of an older version: it restarts itself after its image is written. */
  old_ramdisk: z.boolean().optional(),
  /** The machine cannot write its image, and reports this. Null clears the fault. */
  write_fails: z
    .object({ message: z.string(), code: z.string().optional(), unreachable: z.boolean().optional() })
    .nullable()
    .optional(),
  /**
   * How the machine writes an image of the registry and reads it back: in `steps` steps of `ms`, with a heartbeat after each. After
   * the step `stops_at` it makes no further progress, and reports `problem`. Null clears the fault: in one step, at once.
   */
  write_pace: z
    .object({
      steps: z.number().int().min(1).max(1000),
      ms: count,
      stops_at: count.optional(),
      problem: z.string().optional(),
    })
    .nullable()
    .optional(),
  /** Drops every connection, for a number of milliseconds or until the fault is cleared. */
  dark: z.union([z.boolean(), count]).optional(),
  /** The controller restarts: dark for this many milliseconds, and every session of the lab ends. */
  reboot: count.optional(),
});
export type Fault = z.infer<typeof faultSchema>;

type Lasting = { readonly [Name in Exclude<keyof Fault, 'dark' | 'reboot'>]-?: Exclude<Fault[Name], undefined> };

const none: Lasting = {
  busy: 0,
  retry_after: 1,
  slow: 0,
  drip: 0,
  answer: null,
  ignore_resets: 0,
  fail_resets: 0,
  ignore_media: 0,
  hang_reboots: 0,
  drop_media: false,
  power: null,
  uuid: null,
  system: null,
  sensors: null,
  etags: null,
  endless_tasks: false,
  personality: null,
  old_ramdisk: false,
  write_fails: null,
  write_pace: null,
};

export class Faults {
  #fault: Lasting = none;
  #darkUntil = 0;
  #stale = '';

  /** @param power the power state that a `stale` reading keeps reporting. */
  set({ dark, reboot, ...fault }: Fault, power: string): void {
    const changes = Object.fromEntries(Object.entries(fault).filter(([, value]) => value !== undefined));
    this.#fault = { ...this.#fault, ...changes };
    if (fault.power === 'stale') this.#stale = power;
    if (dark !== undefined) this.#darkUntil = dark === true ? Infinity : dark === false ? 0 : Date.now() + dark;
    if (reboot !== undefined) this.#darkUntil = Date.now() + reboot;
  }

  clear(): void {
    this.#fault = none;
    this.#darkUntil = 0;
  }

  get slowMs(): number {
    return this.#fault.slow;
  }
  get dripMs(): number {
    return this.#fault.drip;
  }
  get answer(): FalseAnswer | null {
    return this.#fault.answer;
  }
  get etags(): Lasting['etags'] {
    return this.#fault.etags;
  }
  get personality(): Personality | undefined {
    return this.#fault.personality === null ? undefined : personalities[this.#fault.personality];
  }
  get sensors(): Lasting['sensors'] {
    return this.#fault.sensors;
  }
  get hasEndlessTasks(): boolean {
    return this.#fault.endless_tasks;
  }
  get dropsMedia(): boolean {
    return this.#fault.drop_media;
  }
  get hasOldRamdisk(): boolean {
    return this.#fault.old_ramdisk;
  }
  get writeFailure(): Lasting['write_fails'] {
    return this.#fault.write_fails;
  }
  get writePace(): Lasting['write_pace'] {
    return this.#fault.write_pace;
  }
  get isDark(): boolean {
    return Date.now() < this.#darkUntil;
  }
  /** The `Retry-After` seconds when this request must be refused. */
  takeBusy(): number | undefined {
    return this.#take('busy') ? this.#fault.retry_after : undefined;
  }
  takeIgnoredReset(): boolean {
    return this.#take('ignore_resets');
  }
  takeFailedReset(): boolean {
    return this.#take('fail_resets');
  }
  takeHangingReboot(): boolean {
    return this.#take('hang_reboots');
  }
  takeIgnoredMedia(): boolean {
    return this.#take('ignore_media');
  }
  /** The document of the system, as this controller shows it. */
  shown(system: object): object {
    const { uuid, system: instead } = this.#fault;
    const power = this.#fault.power === 'stale' ? this.#stale : this.#fault.power;
    return {
      ...system,
      ...(power !== null && { PowerState: power }),
      ...(uuid !== null && { UUID: uuid }),
      ...instead,
    };
  }
  show(): object {
    return { ...this.#fault, dark: this.isDark };
  }

  #take(name: 'busy' | 'ignore_resets' | 'fail_resets' | 'ignore_media' | 'hang_reboots'): boolean {
    const left = this.#fault[name];
    if (left === 0) return false;
    this.#fault = { ...this.#fault, [name]: left - 1 };
    return true;
  }
}
