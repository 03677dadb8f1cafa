import { describe, expect, it } from 'vitest';
import { createOutput } from '../output.ts';
import { createProgramOutput, withoutControls } from './program-output.ts';

describe('the output of a program on a host', () => {
  it('cannot control the terminal, and keeps its colors', () => {
    expect(withoutControls('a\tb\r\n\u001b[31mred\u001b[0m')).toBe('a\tb\r\n\u001b[31mred\u001b[0m');
    expect(withoutControls('\u001b]0;title\u0007 \u001b[2J \u009b1A')).toBe('\ufffd]0;title\ufffd \ufffd[2J \ufffd1A');
  });

  it('reaches a file unchanged, and a terminal as text, also when a character lies across two pieces', () => {
    const written: (string | Uint8Array)[] = [];
    const write = (content: string | Uint8Array): boolean => written.push(content) > 0;
    const [first, second] = [Buffer.from([0xc3]), Buffer.from([0xa9, 0x00])];
    const toFile = createProgramOutput({ stdout: { write }, stderr: { write } });
    toFile('stdout', second);
    expect(written).toEqual([second]);
    const toTerminal = createProgramOutput({ stdout: { write, isTTY: true }, stderr: { write } });
    for (const piece of [first, second]) toTerminal('stdout', piece);
    expect(written.slice(1).join('')).toBe('é\ufffd');
  });
});

it('a fact or name of a host controls no terminal, and reaches a file unchanged', () => {
  for (const isTTY of [true, false]) {
    let written = '';
    const stream = { write: (content: string | Uint8Array) => (written += content.toString()), isTTY, columns: 80 };
    const output = createOutput({ stdout: stream, stderr: stream, environment: { NO_COLOR: '1' } });
    const fact = '\u001b]0;title\u0007 \u001b[2J';
    output.one('table', { fact }, () => [['fact', fact]]);
    output.list('table', { rows: [fact], columns: { name: (row) => row }, none: '' });
    output.note(fact);
    expect(written.split('\n').filter((line) => line.includes('\u001b'))).toHaveLength(isTTY ? 0 : 3);
    expect(written.match(/;title/g)).toHaveLength(3);
  }
});
