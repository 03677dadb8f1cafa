import { expect, it } from 'vitest';
import { createOutput } from './output.ts';

function shown(columns: number): string[] {
  let text = '';
  const stdout = { write: (chunk: string) => ((text += chunk), true), isTTY: true, columns } as never;
  createOutput({ stdout, stderr: stdout, environment: { NO_COLOR: '1' } }).one('table', {}, () => [
    ['status', 'CREATE_COMPLETE'],
    ['parameter OS::project_id', '0000000000000000'],
    ['output said', 'the database listens on 5432 and waits for clients'],
    ['tags', null],
  ]);
  return text.trimEnd().split('\n');
}

it('prints only the name of one object with -o name, and its first field when it has no name', () => {
  let text = '';
  const stdout = { write: (chunk: string) => ((text += chunk), true) } as never;
  const output = createOutput({ stdout, stderr: stdout, environment: {} });
  output.use({ names: true });
  output.one('table', {}, () => [
    ['id', '17'],
    ['name', 'before'],
  ]);
  output.one('table', {}, () => [['id', '17']]);
  expect(text).toBe('before\n17\n');
});

it('shows a long value below its name where the terminal has no room beside it', () => {
  expect(shown(40)).toEqual([
    'status  CREATE_COMPLETE',
    'parameter OS::project_id',
    '  0000000000000000',
    'output said',
    '  the database listens on 5432 and waits',
    '  for clients',
    'tags  -',
  ]);
  expect(shown(60)).toContain('output said               the database listens on 5432 and');
});

it('writes to a terminal that does not know its width as to a wide one', () => {
  expect(shown(0)).toEqual(shown(120));
});
