/**
 * A view that takes the whole terminal and is drawn in place.
 *
 * The terminal is as before when the view is closed, and also when the process exits in another way.
 */
import { withoutControls } from '../terminal/program-output.ts';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';

export type Terminal = Pick<NodeJS.WriteStream, 'write' | 'on' | 'off' | 'columns' | 'rows'>;

export interface Screen {
  /** The width and height now. */
  size(): { width: number; rows: number };
  /** Replaces what is shown. Control characters within the lines, which a host may have reported, are not sent. */
  draw(lines: readonly string[]): void;
  /** Restores the terminal. Repeats are harmless. */
  close(): void;
}

/** @param onResize called when the size of the terminal has changed */
export function openScreen(terminal: Terminal, onResize: () => void): Screen {
  let isOpen = true;
  const restore = (): void => {
    if (!isOpen) return;
    isOpen = false;
    terminal.write(leave);
  };
  process.once('exit', restore);
  terminal.on('resize', onResize);
  terminal.write(enter);
  return {
    size: () => ({ width: terminal.columns || 80, rows: terminal.rows || 24 }),
    draw(lines) {
      // Each line clears its rest, and the last one all below, so that nothing flickers.
      terminal.write(`\u001b[H${lines.map((line) => `${withoutControls(line)}\u001b[K`).join('\r\n')}\u001b[J`);
    },
    close() {
      terminal.off('resize', onResize);
      process.off('exit', restore);
      restore();
    },
  };
}
