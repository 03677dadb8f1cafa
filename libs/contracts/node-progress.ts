/** The progress of a machine that writes its image or erases its disks, and the words for it. Pure. */
import { z } from 'zod';

/**
 * The phases of a machine in the ramdisk, in their order: `writing` the image, `checking` it on the disk, `comparing` it once more
 * with its server after a wrong checksum. `erasing` belongs to a cleaning.
 */
export const bootPhases = ['writing', 'checking', 'comparing', 'erasing'] as const;
export type BootPhase = (typeof bootPhases)[number];

const bytes = z.number().int().nonnegative();

/** A heartbeat of a machine in the ramdisk, without its credential. */
export const heartbeatShape = {
  phase: z.enum(bootPhases),
  bytes: bytes.meta({ description: 'The bytes of this phase that are done.' }),
  total: bytes.meta({ description: 'The bytes of this phase.' }),
  uptime_ms: bytes.meta({
    description: 'The clock of the machine since its start, in milliseconds. A heartbeat that is not later is dropped.',
  }),
  problem: z
    .string()
    .max(500)
    .optional()
    .meta({ description: 'Why it makes no progress now. Absent: nothing is wrong.' }),
} as const;

/** How far a machine is with its disk. */
export const nodeProgressSchema = z.object({
  phase: z.enum(bootPhases),
  image: z.string().nullable().meta({ description: 'The image that it writes. Null while it erases.' }),
  bytes: heartbeatShape.bytes,
  total: heartbeatShape.total,
  bytes_per_second: z.number().nonnegative().nullable().meta({ description: 'Null until two heartbeats show it.' }),
  seconds_left: z.number().int().nonnegative().nullable().meta({
    description: 'The time that the phase still takes at this rate. Null while the rate is not known, or 0.',
  }),
  since: z.iso.datetime().meta({ description: 'When the phase began.' }),
  at: z.iso.datetime().meta({ description: 'When the machine last reported.' }),
  moved_at: z.iso.datetime().meta({ description: 'When it last reported more bytes, or a new phase.' }),
  problem: z.string().nullable().meta({ description: 'Why it makes no progress now. Null: nothing is wrong.' }),
});
/** How far a machine is with its disk. */
export type NodeProgress = z.infer<typeof nodeProgressSchema>;

/** Bytes as `412 MiB` or `3.4 GiB`, rounded down, so that only all of it looks like all. */
export const bytesText = (count: number): string =>
  count < 2 ** 30
    ? `${Math.floor(count / 2 ** 20)} MiB`
    : `${(Math.floor((count / 2 ** 30) * 10) / 10).toFixed(1)} GiB`;

/** A time as `40 s`, `4 min` or `2 h 5 min`. */
export function spanText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
}

/** The part that is done, from 0 to 100. Only all of it is 100. */
export const percentOf = ({ bytes: done, total }: Pick<NodeProgress, 'bytes' | 'total'>): number =>
  total === 0 ? 0 : Math.min(100, Math.floor((100 * done) / total));

/** The phase in words, after the name of a machine: `writes image debian-12`. */
export function phaseText({ phase, image }: Pick<NodeProgress, 'phase' | 'image'>): string {
  const what = image === null ? 'its image' : `image ${image}`;
  switch (phase) {
    case 'writing':
      return `writes ${what}`;
    case 'checking':
      return `checks ${what} on its disk`;
    case 'comparing':
      return `fetches ${what} again, because the checksum on its disk is wrong`;
    case 'erasing':
      return 'overwrites its disks';
  }
}

/** E.g. `412 MiB of 902 MiB (45 %), 1.9 MiB/s, about 4 min left`. */
export function progressText(progress: NodeProgress): string {
  const { bytes: done, total, bytes_per_second: rate, seconds_left: left, problem } = progress;
  return [
    `${bytesText(done)} of ${bytesText(total)} (${percentOf(progress)} %)`,
    ...(rate === null ? [] : [`${(rate / 2 ** 20).toFixed(1)} MiB/s`]),
    ...(left === null || problem !== null ? [] : [`about ${spanText(left)} left`]),
    ...(problem === null ? [] : [problem]),
  ].join(', ');
}

/** A bar of text: `[#########-----------]`. */
export function progressBar(progress: Pick<NodeProgress, 'bytes' | 'total'>, width = 20): string {
  const full = Math.floor((percentOf(progress) * width) / 100);
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
