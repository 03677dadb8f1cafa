/** `anneal dead-letter …` */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { createReplayer, replaySummary } from '@anneal/client/replay-letters.ts';
import type { DeadLetterRow, ReplayedLetter } from '@anneal/client/representation.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { confirm, yesOption } from './confirm.ts';
import { Reported } from '../exit.ts';
import { failureOfEach } from './each.ts';
import { exampleText, formatOption, positiveInteger, readJsonObject } from '../options/options.ts';

const textAt = (row: DeadLetterRow, ...names: readonly string[]): string => {
  const value = names.map((name) => row[name]).find((one) => one !== undefined && one !== null);
  return typeof value === 'string' || typeof value === 'number'
    ? String(value)
    : value === undefined
      ? ''
      : JSON.stringify(value);
};
const reasonOf = (row: DeadLetterRow): string => {
  const failure = row['failure'];
  return typeof failure === 'object' && failure !== null && 'message' in failure ? String(failure.message) : '';
};

export function addDeadLetterCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program
    .command('dead-letter')
    .description('inspect, replay and purge messages that could not be processed');
  noun
    .command('list')
    .description('list dead letters')
    .option('--queue <queue>', 'only dead letters from this queue')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 100)
    .addOption(formatOption())
    .addHelpText('after', exampleText('dead-letter list', 'dead-letter list --queue anneal.provisioning.requests'))
    .action(async ({ queue, limit, output: format }) => {
      const rows = await (await context.part('deadLetters')).list({ queue, limit });
      output.list(format, {
        rows,
        none: 'No dead letters.',
        key: 'id',
        columns: {
          queue: (row) => textAt(row, 'queue'),
          reason: (row) => reasonOf(row).split('\n')[0],
          died: (row) => textAt(row, 'died_at', 'diedAt'),
          attempts: (row) => textAt(row, 'attempts'),
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('show <id>')
    .description('show a dead letter: the error of each attempt, and the bytes of the message')
    .addOption(formatOption())
    .addHelpText('after', exampleText('dead-letter show 0198…'))
    .action(async (id, { output: format }) => {
      const shown = await (await context.part('deadLetters')).show({ id });
      output.one(format, shown, () => Object.entries(shown));
    });
  addReplay(noun, context);
  addPurge(noun, context);
}

function addReplay(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('replay <ids...>')
    .description(
      'send dead letters again to their original queue as new messages, and report what becomes of them within 5 s',
    )
    .option('--data <json>', 'change the data of the message first: the fields that differ; null removes a field')
    .addHelpText(
      'after',
      exampleText('dead-letter replay 0198…', `dead-letter replay 0198… --data '{"properties": {"count": 3}}'`),
    )
    .action(async (ids, { data: text }) => {
      const data = text === undefined ? undefined : readJsonObject(text, { option: '--data', example: '{"count": 3}' });
      const replay = createReplayer(await context.part('deadLetters'));
      const replayed: ReplayedLetter[] = [];
      const status = await failureOfEach(ids, context, async (id) => {
        const end = await replay({ id, data });
        replayed.push(end);
        if (end.outcome === 'died') throw diedAgain(id, end);
        output.line(end.outcome === 'handled' ? `Replayed ${id}: handled.` : `Replayed ${id}: not handled yet.`);
      });
      if (ids.length > 1) output.line(`${replaySummary(replayed)}.`);
      if (status !== undefined) throw new Reported(status);
    });
}

const diedAgain = (id: string, { dead_letter: letter = '', failure }: ReplayedLetter): AnnealError =>
  new AnnealError('Conflict', `Replayed ${id}, and it is dead again: ${failure?.message ?? 'without a reason'}`, {
    details: {
      remedy: `See \`anneal dead-letter show ${letter}\`: fix the cause, or correct the message with --data.`,
    },
  });

function addPurge(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('purge [ids...]')
    .description('delete dead letters permanently')
    .option('--queue <queue>', 'all dead letters from this queue')
    .option('--all', 'all dead letters')
    .addOption(yesOption())
    .addHelpText(
      'after',
      exampleText('dead-letter purge 0198…', 'dead-letter purge --queue anneal.provisioning.requests'),
    )
    .action(async (ids, { queue, all, yes }) => {
      if (ids.length === 0 && queue === undefined && !all) {
        throw new AnnealError('InvalidRequest', 'Nothing to purge: give the ids of dead letters, --queue or --all.');
      }
      const which = ids.length > 0 ? ids.join(', ') : queue === undefined ? 'all queues' : `queue ${queue}`;
      await confirm(context, { yes, what: () => [`Delete dead letters of ${which}, permanently.`] });
      const deadLetters = await context.part('deadLetters');
      for (const id of ids) await deadLetters.purge({ id });
      const rest = queue !== undefined || all ? await deadLetters.purgeAll({ queue }) : 0;
      output.line(`Dead letters purged: ${ids.length + rest}.`);
    });
}
