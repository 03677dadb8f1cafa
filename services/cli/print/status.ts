/** Colours and marks of states. */
import type { Colors } from '../output.ts';

export type Mood = 'done' | 'busy' | 'failed' | 'idle';

/** The mood of a status such as `CREATE_COMPLETE`, `power on`, `active` or `SKIPPED`. */
export function moodOf(status: string): Mood {
  if (/fail|error|dead|silent|unreach/i.test(status)) return 'failed';
  if (/in_progress|ing$|wait|expected|pending|queued/i.test(status)) return 'busy';
  if (/complete|active|available|^up$|delivered|power on|ok$|ready/i.test(status)) return 'done';
  return 'idle';
}

export function paintStatus(status: string | null | undefined, colors: Colors): string {
  if (!status) return '-';
  switch (moodOf(status)) {
    case 'done':
      return colors.green(status);
    case 'busy':
      return colors.yellow(status);
    case 'failed':
      return colors.red(status);
    case 'idle':
      return status;
  }
}

export function markOf(mood: Mood, colors: Colors): string {
  switch (mood) {
    case 'done':
      return colors.green('✔');
    case 'busy':
      return colors.yellow('●');
    case 'failed':
      return colors.red('✘');
    case 'idle':
      return colors.dim('○');
  }
}
