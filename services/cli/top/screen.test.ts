import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { openScreen, type Terminal } from './screen.ts';

/** A terminal that keeps what is written to it. */
class KeptTerminal extends EventEmitter {
  columns = 80;
  rows = 24;
  text = '';
  write(text: string): boolean {
    this.text += text;
    return true;
  }
}
const open = (onResize = () => {}) => {
  const terminal = new KeptTerminal();
  return { terminal, screen: openScreen(terminal as unknown as Terminal, onResize) };
};

it('takes the other screen of the terminal, and gives it back once', () => {
  const { terminal, screen } = open();
  expect(terminal.text).toBe('\u001b[?1049h\u001b[?25l');
  screen.close();
  screen.close();
  expect(terminal.text).toBe('\u001b[?1049h\u001b[?25l\u001b[?25h\u001b[?1049l');
  expect(terminal.listenerCount('resize')).toBe(0);
});

it('draws in place, and sends no control character of a line', () => {
  const { terminal, screen } = open();
  terminal.text = '';
  screen.draw(['a', 'evil \u001b[2J\u0007']);
  expect(terminal.text).toBe('\u001b[Ha\u001b[K\r\nevil \ufffd[2J\ufffd\u001b[K\u001b[J');
  screen.close();
});

it('knows the size of the terminal, and hears of a change', () => {
  let changes = 0;
  const { terminal, screen } = open(() => {
    changes += 1;
  });
  terminal.columns = 40;
  terminal.emit('resize');
  expect([changes, screen.size()]).toEqual([1, { width: 40, rows: 24 }]);
  screen.close();
});

it('gives the terminal back when the process exits in another way', () => {
  const before = process.listeners('exit');
  const { terminal, screen } = open();
  const restore = process.listeners('exit').find((each) => !before.includes(each));
  restore?.(1);
  expect(terminal.text).toContain('\u001b[?1049l');
  screen.close();
  expect(process.listeners('exit')).toEqual(before);
});
