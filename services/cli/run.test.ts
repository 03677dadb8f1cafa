import { InvalidArgumentError } from '@commander-js/extra-typings';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { expect, it } from 'vitest';
import type { CliContext } from './context.ts';
import { createOutput } from './output.ts';
import { runCommand } from './run.ts';

const unused = (): never => {
  throw new Error('asked the server');
};

async function run(
  words: readonly string[],
  client: CliContext['client'],
  part: () => Promise<unknown> = unused,
): Promise<{ status: number; text: string }> {
  let text = '';
  const stream = { write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WritableStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const interrupt = new AbortController().signal;
  const context = { output, environment: {}, cwd: '/', interrupt, client, part } as unknown as CliContext;
  const status = await runCommand({ context, words, stdout: stream, stderr: stream });
  return { status, text };
}

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

it.each([
  [['node', 'show', 'lost'], 'There is no node with id or name lost.', 'node list'],
  [['output', 'show', 'web', 'lost'], 'Specified output key lost not found.', 'output list web'],
  [['output', 'show', 'lost', 'a'], 'The Stack (lost) could not be found.', 'stack list'],
  [['workflow', 'execution', 'lost'], 'The execution lost does not exist in this project.', 'workflow executions'],
])('names the command that lists what exists: %j', async (words, message, list) => {
  const { status, text } = await run(words, () => {
    throw new AnnealError('NotFound', message);
  });
  expect(status).toBe(1);
  expect(text).toContain(
    `Error: ${message} (NotFound)\nRemedy: Check the name and the project. \`anneal ${list}\` shows what exists.\n`,
  );
});

it('reports one error when each of the requests of a list is refused', async () => {
  const refuse = (): Promise<never> => Promise.reject(new AnnealError('Forbidden', 'Only operators may.'));
  const parts = { stacks: { list: refuse }, why: { lines: refuse }, identity: { projects: { list: refuse } } };
  const { status, text } = await run(['stack', 'list', '--all-projects'], unused, () => Promise.resolve(parts));
  expect(status).toBe(1);
  expect(text).toMatch(/^Error: Only operators may. \(Forbidden\)\nRemedy: .*\n$/);
});
