import { expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { createOutput } from '../output.ts';
import { runCommand } from '../run.ts';

async function run(warning: string | null, { words, answer }: { words: readonly string[]; answer?: string }) {
  let text = '';
  const asked: unknown[] = [];
  const stream = { write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WritableStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const confirmOff = (parameters: object) => {
    asked.push(parameters);
    return Promise.resolve({ warning });
  };
  const part = () => Promise.resolve({ confirmOff });
  const interrupt = new AbortController().signal;
  const ask = answer === undefined ? undefined : () => Promise.resolve(answer);
  const all = ['node', 'confirm-off', 'm1', ...words];
  const context = { words: all, output, environment: {}, cwd: '/', interrupt, part, ask } as unknown as CliContext;
  return { status: await runCommand({ context, stdout: stream, stderr: stream }), text, asked };
}

const reason = ['--reason', 'unplugged'];

it('sends the reason, and prints what speaks against the statement', async () => {
  const { status, text, asked } = await run('Host web asked for work at 10:00.', { words: reason });
  expect({ status, asked }).toEqual({ status: 0, asked: [{ node: 'm1', reason: 'unplugged' }] });
  expect(text).toContain('Host web asked for work at 10:00.\n');
  expect(text).toContain('m1 counts as off until it is turned on');
});

it('needs a reason, and asks first on a terminal', async () => {
  expect(await run(null, { words: [] })).toMatchObject({ status: 2, asked: [] });
  const declined = await run(null, { words: reason, answer: 'n' });
  expect(declined.asked).toEqual([]);
  expect(declined.text).toContain('If it still runs, two machines run as one host.');
  expect((await run(null, { words: reason, answer: 'y' })).asked).toHaveLength(1);
});
