/** `anneal event …` */
import type { Client } from '@anneal/client/connect.ts';
import type { EventGap } from '@anneal/contracts/calls/subscriptions.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { stackExists } from './named.ts';
import { eventText } from '../print/event-text.ts';
import { collect, eventScopeOptions, exampleText, formatOption, positiveInteger } from '../options/options.ts';

/** Reports that events may be missing before the first one that is shown, which is the oldest of the log. */
export const gapText = ({ after, oldest }: EventGap): string =>
  `The event ${after} is not in the log: the log has removed it, or there never was such an event. ` +
  (oldest === null
    ? 'The log has no events of this project. '
    : `All stored events follow; those before ${oldest} may be missing. `) +
  'Read the current state of the objects: docs/symptoms/events-were-dropped.md';

/** Names the stacks that do not exist, because the events of a misspelt name never come. */
async function noteMissing(client: Client, stacks: readonly string[], output: CliContext['output']): Promise<void> {
  for (const path of stacks) {
    const [name = ''] = path.split('/');
    if (await stackExists(client, name)) continue;
    output.note(`There is no stack ${name} now. Its events are printed when it is created.`);
  }
}

export function addEventCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const onGap = (gap: EventGap): void => output.note(gapText(gap));
  const scope = eventScopeOptions();
  const noun = program.command('event').description('list and watch events');
  noun
    .command('watch')
    .description('print each event as it happens, until Ctrl-C; reconnects after a broken connection')
    .option('--type <pattern>', 'only events of this type, e.g. stack.# or *.*.failed; may be repeated', collect, [])
    .addOption(scope.stack)
    .addOption(scope.tag)
    .addOption(scope.group)
    .addOption(scope.host)
    .addOption(scope.project)
    .option('--after <id>', 'start after the event with this id; `beginning` for all stored events')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'event watch',
        "event watch --type 'deployment.#' --type '*.*.failed'",
        'event watch --group web/workers --tag prod',
        'event watch -o json',
      ),
    )
    .action(async ({ type, after, output: format, ...wanted }) => {
      const client = await context.client();
      const types = type.length > 0 ? type : undefined;
      if (wanted.project === undefined) await noteMissing(client, wanted.stack ?? [], output);
      for await (const event of client.events({ types, after, onGap, signal: context.interrupt, ...wanted })) {
        if (format === 'yaml') output.value('yaml', [event]);
        else if (format === 'json') output.line(JSON.stringify(event));
        else output.prose(eventText(event, output.colors));
      }
    });
  noun
    .command('list')
    .description('list the latest events')
    .option('--type <pattern>', 'only events of this type; may be repeated', collect, [])
    .addOption(scope.stack)
    .addOption(scope.tag)
    .addOption(scope.group)
    .addOption(scope.host)
    .addOption(scope.project)
    .option('--after <id>', 'only events after the event with this id; `beginning` for all stored events')
    .option('--before <id>', 'the latest events before the event with this id')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 50)
    .addOption(formatOption())
    .addHelpText('after', exampleText('event list --stack web', "event list --type 'node.#' --limit 20 -o json"))
    .action(async ({ type, after, before, limit, output: format, ...wanted }) => {
      const client = await context.client();
      const types = type.length > 0 ? type : undefined;
      const rows = await client.events.list({ types, after, before, limit, onGap, ...wanted });
      if (format !== 'table') output.value(format, rows);
      else if (rows.length === 0) output.line('No events.');
      else for (const event of rows) output.prose(eventText(event, output.colors));
    });
}
