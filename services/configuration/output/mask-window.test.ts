import { describe, expect, it } from 'vitest';
import { randomOf } from '../../../test/chaos/random.ts';
import { maskWindow } from './mask-window.ts';

const secret = 'correct-horse-battery';
const redact = (text: string): string => text.replaceAll(secret, '******');
const window = (text: string | Buffer, more: Partial<Parameters<typeof maskWindow>[0]> = {}) =>
  maskWindow({ bytes: Buffer.from(text), isWithinLine: false, isEnd: false, isFull: false, ...more }, redact);

describe('maskWindow', () => {
  it('K1: shows whole lines, and the rest of the last line at the end', () => {
    expect(window('one\ntwo\nthr')).toEqual({ bytes: Buffer.from('one\ntwo\n'), taken: 8, masked: false });
    expect(window('thr')).toMatchObject({ taken: 0 });
    expect(window('three', { isEnd: true })).toEqual({ bytes: Buffer.from('three'), taken: 5, masked: false });
  });

  it('masks a hidden value and takes all its bytes', () => {
    expect(window(`a ${secret}\nb`)).toEqual({ bytes: Buffer.from('a ******\n'), taken: 24, masked: true });
  });

  it('K2: shows nothing of a line whose beginning is unknown', () => {
    expect(window(`battery\nnext\n`, { isWithinLine: true }).bytes.toString()).toBe('next\n');
    expect(window('battery', { isWithinLine: true })).toMatchObject({ taken: 0 });
    expect(window('battery', { isWithinLine: true, isEnd: true }).bytes.length).toBe(0);
  });

  it('K1: replaces a line that is longer than a window, because a hidden value may lie at its cut', () => {
    const shown = window('x'.repeat(1000), { isFull: true });
    expect(shown.bytes.toString()).toMatch(/^\[a long line is not shown/);
    expect(shown.taken).toBe(1000);
  });

  it('K3: leaves bytes that are no text unchanged', () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 10]);
    expect(window(bytes).bytes).toEqual(bytes);
  });

  it('never shows a hidden value, and shows every other line once, however the stream grows and is read', () => {
    const seed = Number(process.env['ANNEAL_TEST_SEED'] ?? Date.now() % 1_000_000);
    process.stderr.write(`ANNEAL_TEST_SEED=${seed}\n`);
    const random = randomOf(seed);
    for (let round = 0; round < 200; round += 1) {
      const lines = Array.from({ length: 20 }, (_, index) =>
        random() < 0.3 ? `${index} ${secret} end` : `line ${index} ${'y'.repeat(random() * 20)}`,
      );
      const whole = Buffer.from(`${lines.join('\n')}\n`);
      let stored = 0;
      let at = 0;
      let shown = '';
      while (at < whole.length) {
        stored = Math.min(whole.length, stored + Math.ceil(random() * 40));
        const bytes = whole.subarray(at, stored);
        const isWithinLine = at > 0 && whole[at - 1] !== 10;
        const part = maskWindow({ bytes, isWithinLine, isEnd: stored === whole.length, isFull: false }, redact);
        shown += part.bytes.toString();
        at += part.taken;
      }
      expect(shown).toBe(redact(whole.toString()));
    }
  });
});
