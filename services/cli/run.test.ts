import { InvalidArgumentError } from '@commander-js/extra-typings';
import { expect, it } from 'vitest';
import type { CliContext } from './context.ts';
import { createOutput } from './output.ts';
import { runCommand } from './run.ts';

async function run(words: readonly string[], client: CliContext['client']): Promise<{ status: number; text: string }> {
  let text = '';
  const stream = { write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WritableStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const interrupt = new AbortController().signal;
  const context = { output, environment: {}, cwd: '/', interrupt, client } as unknown as CliContext;
  const status = await runCommand({ context, words, stdout: stream, stderr: stream });
  return { status, text };
}
const unused = (): never => {
  throw new Error('asked the server');
};

it.each([
  [['group', 'resize', 'web', 'workers', 'many'], "'many' is invalid for argument 'size'. Must be a"],
  [['metric', 'post', 'load', 'high'], "'high' is invalid for argument 'value'. Must be a number."],
])('refuses a value that is no number: %j', async (words, message) => {
  const { status, text } = await run(words, unused);
  expect(status).toBe(2);
  expect(text).toContain(message);
});

it('prints why an action refuses a value', async () => {
  const refuse = (): never => {
    throw new InvalidArgumentError('Must be even.');
  };
  expect(await run(['metric', 'post', 'load', '3'], refuse)).toEqual({ status: 2, text: 'Error: Must be even.\n' });
});
