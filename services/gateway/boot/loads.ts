/**
 * Follows the firmware of a machine while it loads a boot file. A firmware that loses the server gives up and asks for
 * nothing more, so provisioning must know how far it came.
 *
 * F1 The begin of a load is reported before its first byte is sent, so that the death of this process looks like a cut.
 * F2 A load in progress is reported again and again, because a weak network loads for many minutes.
 */
import type { ServerResponse } from 'node:http';

export interface Load {
  readonly sent: number;
  readonly size: number;
  readonly done: boolean;
}

export interface LoadFollowing {
  readonly size: number;
  /** The boot needs no other file after this one. */
  readonly isLast: boolean;
  readonly report: (load: Load) => Promise<unknown>;
  /** Called with the error of a report after the first. The load continues. */
  readonly onError: (error: unknown) => void;
  readonly everyMs?: number;
}

/** Resolves when the begin is reported. Reports what the response sends until it ends. */
export async function followLoad(response: ServerResponse, options: LoadFollowing): Promise<void> {
  const { size, isLast, report, onError, everyMs = 5_000 } = options;
  const { socket } = response;
  await report({ sent: 0, size, done: false });
  const before = socket?.bytesWritten ?? 0;
  // Without what waits in this process. The few bytes of the headers do not matter.
  const sent = (): number =>
    Math.min(size, Math.max(0, (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0) - before));
  let reported = 0;
  const timer = setInterval(() => {
    const now = sent();
    if (now === reported) return;
    reported = now;
    report({ sent: now, size, done: false }).catch(onError);
  }, everyMs);
  response.once('close', () => {
    clearInterval(timer);
    const isWhole = response.writableFinished;
    report({ sent: isWhole ? size : sent(), size, done: isWhole && isLast }).catch(onError);
  });
}
