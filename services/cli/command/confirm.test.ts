import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Resource } from '@anneal/client/representation.ts';
import { expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { Declined, Reported } from '../exit.ts';
import { createOutput } from '../output.ts';
import { confirm } from './confirm.ts';
import { deletionLine } from './deletion.ts';
import { forEachOf } from './each.ts';

function contextOf(answer?: string | null): { context: CliContext; printed: () => string } {
  let text = '';
  const stream = { write: (more: string | Uint8Array) => (text += more.toString()) };
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const ask = answer === undefined ? undefined : () => Promise.resolve(answer ?? undefined);
  const context = { words: [], output, ask, interrupt: new AbortController().signal } as unknown as CliContext;
  return { context, printed: () => text };
}

it('a command that destroys asks on a terminal, and goes on only after yes', async () => {
  const what = () => ['Delete everything.'];
  for (const answer of ['', 'n', 'yess', null]) {
    const { context, printed } = contextOf(answer);
    await expect(confirm(context, { yes: undefined, what })).rejects.toThrow(Declined);
    expect(printed()).toBe('Delete everything.\n');
  }
  for (const answer of ['y', 'Yes ', 'YES']) await confirm(contextOf(answer).context, { yes: undefined, what });
});

it('a command that destroys asks nothing with --yes or without a terminal', async () => {
  const what = () => expect.unreachable();
  await confirm(contextOf('n').context, { yes: true, what });
  await confirm(contextOf().context, { yes: undefined, what });
});

it('the question before a deletion counts the resources and names the machines that are erased', () => {
  const server = (name: string, id: string | null) =>
    ({ resource_name: name, resource_type: 'OS::Nova::Server', physical_resource_id: id }) as Resource;
  expect(deletionLine('web', [])).toBe('Delete stack web: 0 resources; no machine is erased');
  expect(deletionLine('web', [server('a', '1'), server('b', null)])).toBe(
    'Delete stack web: 2 resources; erases 1 machine (a)',
  );
  const many = Array.from({ length: 10 }, (_, index) => server(`s${index}`, '1'));
  expect(deletionLine('web', many)).toMatch(/erases 10 machines \(s0, .*, s7, … 2 more\)$/);
});

it('each of several objects gets its own result, and the exit status is that of the first error', async () => {
  const { context, printed } = contextOf();
  const done: string[] = [];
  const act = (name: string): Promise<void> => {
    if (name.startsWith('bad')) return Promise.reject(new AnnealError('NotFound', `There is no ${name}.`));
    done.push(name);
    return Promise.resolve();
  };
  const failed = await forEachOf(['a', 'bad-1', 'b', 'bad-2'], context, act).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Reported);
  expect(failed).toMatchObject({ status: 1 });
  expect(done).toEqual(['a', 'b']);
  expect(printed()).toMatch(/There is no bad-1[^]*There is no bad-2/);
});
