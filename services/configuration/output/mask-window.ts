/**
 * Removes hidden values from a part of a stream. Pure.
 *
 * K1 A secret may lie across two pieces, so only whole lines are shown, until the stream has ended. The redactor knows
 *    each line of a secret of several lines.
 * K2 A reader that begins within a line sees nothing of that line.
 * K3 Bytes without a hidden value pass unchanged.
 */

export interface StreamWindow {
  readonly bytes: Buffer;
  /** The byte before the window is no line end, or is unknown. */
  readonly isWithinLine: boolean;
  /** Nothing follows the window, and nothing ever will. */
  readonly isEnd: boolean;
  /** The window cannot grow: a longer one would exceed the limit of a message. */
  readonly isFull: boolean;
}

export interface MaskedWindow {
  readonly bytes: Buffer;
  /** The number of bytes of the window that `bytes` represents. The reader continues behind them. */
  readonly taken: number;
  readonly masked: boolean;
}

const newline = 10;
const longLine = '[a long line is not shown, because this run was given hidden values]\n';

/** The part of a window that can be shown now. `redact` removes the hidden values of the run from a text. */
export function maskWindow(window: StreamWindow, redact: (text: string) => string): MaskedWindow {
  const { bytes, isWithinLine, isEnd, isFull } = window;
  const first = isWithinLine ? bytes.indexOf(newline) + 1 : 0;
  if (isWithinLine && first === 0) return skipped(isEnd || isFull ? bytes.length : 0); // K2
  const end = isEnd ? bytes.length : bytes.lastIndexOf(newline) + 1;
  if (end <= first) {
    if (!isFull || end > 0) return skipped(end);
    return { bytes: Buffer.from(longLine), taken: bytes.length, masked: true };
  }
  const lines = bytes.subarray(first, end);
  const text = lines.toString('utf8');
  const shown = redact(text);
  if (shown === text) return { bytes: lines, taken: end, masked: false }; // K3
  return { bytes: Buffer.from(shown), taken: end, masked: true };
}

const skipped = (taken: number): MaskedWindow => ({ bytes: Buffer.alloc(0), taken, masked: taken > 0 });
