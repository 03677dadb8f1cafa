/** Colours and marks of states. */
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';
import type { Colors } from '../output.ts';

export function paintStatus(status: string | null | undefined, colors: Colors): string {
  if (!status) return '-';
  switch (toneOf(status)) {
    case 'done':
      return colors.green(status);
    case 'busy':
    case 'wait':
      return colors.yellow(status);
    case 'failed':
      return colors.red(status);
    case 'idle':
      return status;
  }
}

export function markOf(tone: Tone, colors: Colors): string {
  switch (tone) {
    case 'done':
      return colors.green('✔');
    case 'busy':
      return colors.yellow('●');
    case 'wait':
      return colors.yellow('◆');
    case 'failed':
      return colors.red('✘');
    case 'idle':
      return colors.dim('○');
  }
}
