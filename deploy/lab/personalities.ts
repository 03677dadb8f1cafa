/**
 * Habits of real controllers that the standard allows, or that are common in spite of it: one line of the table for each
 * personality, which a test gives to a machine with the fault `personality`. Pure data.
 */

export interface Personality {
  /** It offers no HTTP boot, so that the machine boots from its virtual drive. */
  readonly mediaOnly?: boolean;
  /** The properties that InsertMedia requires beside `Image`, and how the controller names them. */
  readonly demands?: {
    readonly names: readonly string[];
    readonly by: 'text' | 'arguments' | 'pointers' | 'description';
  };
  /** How a change is answered. `303`: with the place of its result. Others: with 202 and a task that ends in this way. */
  readonly accepts?: '303' | 'monitor 200' | 'monitor 204' | 'monitor 303' | 'monitor 404' | 'monitor 410' | 'task';
  /** The state of a task that runs. */
  readonly taskWord?: string;
  /** An image is in the drive only when the task has ended. */
  readonly lateImage?: boolean;
  /** How the drive shows the address of its image. */
  readonly showsImage?: (url: string) => string | null;
  /** The state of the power in the first readings after a reset. */
  readonly powerWord?: string | null;
  /** Properties that its system has instead of the usual ones. */
  readonly system?: Readonly<Record<string, unknown>>;
  /** Types that its virtual drive lists. */
  readonly mediaTypes?: readonly unknown[] | null;
  /** Its system names a manager that does not exist before its own, and has no drive itself. */
  readonly otherManager?: boolean;
  /** Drives beside that of the machine, in front of it. They accept no change. */
  readonly otherDrives?: readonly {
    readonly Id: string;
    readonly MediaTypes: readonly string[];
    readonly Image: string | null;
  }[];
  /** A session ends after so many requests about the machine, with this answer. */
  readonly session?: { readonly requests: number; readonly status: 401 | 403 };
  /** The boot override and the drive take effect at a start from off only, as with libvirt. */
  readonly changesAtStart?: boolean;
  /** Each address is written with the origin. */
  readonly absoluteLinks?: boolean;
}

const person = 'http://mirror.example/rescue.iso';

export const personalities = {
  'demands in words': {
    mediaOnly: true,
    demands: { names: ['MediaType', 'TransferProtocolType'], by: 'text' },
  },
  'demands by arguments': { mediaOnly: true, demands: { names: ['Inserted', 'WriteProtected'], by: 'arguments' } },
  'demands by pointers': { mediaOnly: true, demands: { names: ['TransferMethod'], by: 'pointers' } },
  'demands in the description': { mediaOnly: true, demands: { names: ['MediaType', 'Inserted'], by: 'description' } },
  'monitor ends with 200': { mediaOnly: true, accepts: 'monitor 200', lateImage: true },
  'monitor ends with 204': { accepts: 'monitor 204' },
  'monitor ends with 303': { mediaOnly: true, accepts: 'monitor 303', lateImage: true },
  'monitor is gone, 404': { mediaOnly: true, accepts: 'monitor 404' },
  'monitor is gone, 410': { accepts: 'monitor 410' },
  'task without a monitor': { mediaOnly: true, accepts: 'task', taskWord: 'Downloading', lateImage: true },
  'result elsewhere, 303': { mediaOnly: true, accepts: '303' },
  'image by its file name': { mediaOnly: true, showsImage: (url) => url.split('/').at(-1) ?? '' },
  'image without a name': { mediaOnly: true, showsImage: () => null },
  'image with another scheme': { mediaOnly: true, showsImage: (url) => url.replace(/^http:/, 'https:') },
  'image percent-encoded': { mediaOnly: true, showsImage: (url) => encodeURIComponent(url) },
  'power in its own word': { powerWord: 'Reset' },
  'power unknown after a reset': { mediaOnly: true, powerWord: null },
  'words of a vendor': {
    mediaOnly: true,
    mediaTypes: ['Hologram', null],
    taskWord: 'Contemplating',
    accepts: 'monitor 204',
    system: {
      Status: { State: 'Dreaming', Health: 'Purple', HealthRollup: null },
      BootProgress: { LastState: 'ContosoMagic', OemLastState: 7 },
      IndicatorLED: 'Disco',
      LocationIndicatorActive: 'maybe',
      SystemType: 'Blob',
    },
  },
  'nulls for what is unknown': {
    mediaTypes: null,
    system: { Status: null, BootProgress: null, ProcessorSummary: null, MemorySummary: null, IndicatorLED: null },
  },
  'manager that is not shown': { mediaOnly: true, otherManager: true },
  'drives of persons': {
    mediaOnly: true,
    otherDrives: [
      { Id: 'Stick', MediaTypes: ['USBStick'], Image: null },
      { Id: 'Person', MediaTypes: ['CD', 'DVD'], Image: person },
    ],
  },
  'session ends with 401': { session: { requests: 7, status: 401 } },
  'session ends with 403': { mediaOnly: true, session: { requests: 7, status: 403 } },
  'changes at a start from off': { changesAtStart: true },
  'changes of the drive at a start from off': { mediaOnly: true, changesAtStart: true },
  'absolute addresses': { mediaOnly: true, absoluteLinks: true, accepts: 'monitor 204' },
} as const satisfies Readonly<Record<string, Personality>>;

export type PersonalityName = keyof typeof personalities;
