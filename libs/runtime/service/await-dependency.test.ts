import { AnnealError } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import { awaitDependency } from './await-dependency.ts';

function scene(outcomes: readonly (string | AnnealError)[]) {
  const lines: string[] = [];
  const reasons: string[] = [];
  const left = [...outcomes];
  const log = {
    warn: (_facts: object, text: string) => void lines.push(`warn ${text}`),
    info: (_facts: object, text: string) => void lines.push(`info ${text}`),
  };
  const open = (): Promise<string> => {
    const outcome = left.shift() ?? 'open';
    return outcome instanceof AnnealError ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  const start = (signal?: AbortSignal) =>
    awaitDependency({ what: 'the broker', open, onWaiting: (reason) => void reasons.push(reason), log, signal });
  return { lines, reasons, start };
}
const refused = new AnnealError('Unavailable', 'amqp://b cannot be reached: ECONNREFUSED.');

describe('awaitDependency', () => {
  it('logs nothing when the dependency is available at once', async () => {
    const { lines, start } = scene(['it']);
    expect(await start()).toBe('it');
    expect(lines).toEqual([]);
  });

  it('D2: waits for a late dependency, with one log line for the reason and one when it is available', async () => {
    const { lines, reasons, start } = scene([refused, refused, 'it']);
    expect(await start()).toBe('it');
    expect(lines).toEqual([
      'warn waiting for the broker; not ready until it answers: amqp://b cannot be reached: ECONNREFUSED.',
      'info the broker is available; starting',
    ]);
    expect(reasons).toEqual(
      Array.from({ length: 2 }, () => 'waiting for the broker: amqp://b cannot be reached: ECONNREFUSED.'),
    );
  });

  it.each(['Unauthorized', 'InvalidRequest', 'NotSupported'] as const)('D1: stops waiting on %s', async (code) => {
    const { start } = scene([refused, new AnnealError(code, 'no')]);
    await expect(start()).rejects.toMatchObject({ code });
  });

  it('stops waiting when the process stops', async () => {
    const { start } = scene(Array.from({ length: 1000 }, () => refused));
    const stopping = new AbortController();
    const waiting = start(stopping.signal);
    stopping.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });
});
