/** `anneal stack wait` */
import type { Client } from '@anneal/client/connect.ts';
import type { StackRef } from '@anneal/client/stacks.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';
import { lastEvent, settle } from './settle.ts';

export function addStackWait(stack: Command, context: CliContext): void {
  stack
    .command('wait <stack>')
    .description(
      'wait until the current action of a stack has ended; exit status 1 if it failed, also if it was rolled back',
    )
    .option(
      '--timeout <seconds>',
      'stop waiting after this time, with exit status 1; the stack is not affected',
      positiveInteger,
    )
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack wait web', 'stack wait web --timeout 600 -o json'))
    .action(async (name, { timeout, output: format }) => {
      const client = await context.client();
      const ref = await client.stacks.find({ stack: name }).catch(async (error: unknown) => {
        const deleted = await deletedStack(client, name, error);
        if (deleted) return deleted;
        throw error;
      });
      const after = await lastEvent(client, ref.id);
      const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout * 1000);
      const interrupt = late ? AbortSignal.any([context.interrupt, late]) : context.interrupt;
      await settle({ context: { ...context, interrupt }, client, ref, wait: true, format, after, begun: '' });
    });
}

/** The newest deleted stack of a name, because a deletion may end before a script waits for it. */
async function deletedStack(client: Client, name: string, error: unknown): Promise<StackRef | undefined> {
  if (!hasCode(error, 'NotFound')) return undefined;
  const rows = await client.stacks.list({ deleted: true, status: 'DELETE_COMPLETE' });
  const found = rows.find(({ stack_name }) => stack_name === name);
  return found && { id: found.id, name };
}
