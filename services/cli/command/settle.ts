/** The end of a command that starts an action: waits for it with a progress tree, or prints how to follow it. */
import type { Client } from '@anneal/client/connect.ts';
import type { CliContext } from '../context.ts';
import type { Format } from '../output.ts';
import { outputText } from './output.ts';

/** Prints the result of an action. Waits for it on a terminal or when the user asks for that. */
export async function settle(input: {
  context: CliContext;
  client: Client;
  ref: { id: string; name: string };
  wait: boolean | undefined;
  format: Format;
  after?: string | undefined;
  begun: string;
  /** The action that the command began. Absent when that depends on the state of the stack. */
  wanted?: string | undefined;
}): Promise<void> {
  const { context, client, ref, format, after, begun, wanted } = input;
  const { output } = context;
  const wait = input.wait ?? (output.isTerminal && format === 'table');
  if (!wait) {
    if (format === 'table')
      output.prose(`${begun} (id ${ref.id}). Follow it with: anneal stack events ${ref.name} --follow`);
    else output.value(format, await client.stacks.show({ stack: ref.id }));
    return;
  }
  const { showProgress } = await import('../progress/show.ts');
  const ended = await showProgress({ context, client, stack: ref, after, wanted, quiet: format !== 'table' });
  if (ended.stack_status === 'DELETE_COMPLETE') {
    if (format !== 'table') output.value(format, ended);
    return;
  }
  const shown = await client.stacks.show({ stack: ref.id });
  if (format !== 'table') output.value(format, shown);
  else for (const one of shown.outputs ?? []) output.line(`${output.colors.bold(one.output_key)}: ${outputText(one)}`);
}

/** The marker after which the events of the next action begin. */
export async function lastEvent(client: Client, stack: string): Promise<string | undefined> {
  return (await client.stacks.events({ stack, limit: 1, descending: true })).at(0)?.id;
}
