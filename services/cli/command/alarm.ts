/** `anneal alarm …` */
import { alarmStates, type AlarmView } from '@anneal/contracts/calls/alarms.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import type { Colors } from '../output.ts';
import { formatAge, formatClock } from '@anneal/client/text/time.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

const paintState = (state: AlarmView['state'], colors: Colors): string =>
  state === 'alarm' ? colors.red(state) : state === 'ok' ? colors.green(state) : colors.yellow(state);

const fields = (alarm: AlarmView, colors: Colors): (readonly [string, unknown])[] => [
  ['name', alarm.name],
  ['id', alarm.id],
  ['type', alarm.type],
  ['resource', `${alarm.stack_name}/${alarm.resource_name}`],
  ['state', paintState(alarm.state, colors)],
  ['reason', alarm.state_reason],
  ['since', alarm.state_at],
  ['enabled', String(alarm.enabled)],
  ['severity', alarm.severity],
  ['rule', alarm.rule],
  ...alarm.actions.map(({ on, target }) => [`on ${on}`, target] as const),
  ...alarm.pending.map(
    ({ target, attempts, error }) =>
      ['pending', attempts === 0 ? target : `${target} after ${attempts} attempts: ${error ?? ''}`] as const,
  ),
];

export function addAlarmCommands(program: Command, context: CliContext): void {
  const noun = program.command('alarm').description('inspect alarms on measurements and events');
  addReading(noun, context);
  addValues(noun, context);
  addHistory(noun, context);
  addSet(noun, context);
}

function addReading(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('list')
    .description('list alarms')
    .option('--stack <stack>', 'only those of this stack')
    .addOption(new Option('--state <state>', 'only those in this state').choices(alarmStates))
    .addOption(formatOption())
    .addHelpText('after', exampleText('alarm list', 'alarm list --stack web --state alarm'))
    .action(async ({ stack, state, output: format }) => {
      const rows = await (await context.part('alarms')).list({ stack, state });
      output.list(format, {
        rows,
        none: 'No alarms.',
        key: 'id',
        columns: {
          resource: (row) => `${row.stack_name}/${row.resource_name}`,
          state: (row, colors) => paintState(row.state, colors),
          since: (row) => formatAge(row.state_at, context.now()),
          enabled: (row) => row.enabled,
          reason: (row) => row.state_reason,
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('show <alarm>')
    .description('show an alarm by id, name or name of its resource')
    .addOption(formatOption())
    .addHelpText('after', exampleText('alarm show high'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.part('alarms')).show({ alarm: name });
      output.one(format, shown, () => fields(shown, output.colors));
    });
}

function addValues(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('values <alarm>')
    .description('list the latest values that an alarm compares with its threshold, by period')
    .option('--periods <n>', 'the number of periods', positiveInteger, 20)
    .addOption(formatOption())
    .addHelpText('after', exampleText('alarm values high', 'alarm values high --periods 60 -o json'))
    .action(async (name, { periods, output: format }) => {
      const series = await (await context.part('alarms')).series({ alarm: name, periods });
      output.list(format, {
        rows: series.flatMap(({ rule, points }) => points.map((point) => ({ ...point, rule }))),
        none: 'The alarm compares no measurements.',
        columns: {
          time: ({ at }) => formatClock(at),
          value: ({ value, outside }, colors) =>
            value === null ? '-' : outside ? colors.red(String(value)) : String(value),
          rule: ({ rule }) => rule,
        },
      });
    });
}

function addHistory(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('history <alarm>')
    .description('list the latest changes and actions of an alarm, newest first')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 50)
    .addOption(formatOption())
    .addHelpText('after', exampleText('alarm history high', 'alarm history high --limit 5 -o json'))
    .action(async (name, { limit, output: format }) => {
      const rows = await (await context.part('alarms')).history({ alarm: name, limit });
      output.list(format, {
        rows,
        none: 'The alarm has neither changed nor acted.',
        columns: {
          time: (row) => formatClock(row.at),
          what: (row, colors) => (row.kind === 'action failed' ? colors.red(row.kind) : row.kind),
          detail: (row) => row.detail,
        },
      });
    });
}

function addSet(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('set')
    .description('set the state of an alarm, for a test or to reset an event alarm; its actions for that state run')
    .argument('<alarm>', 'id, name or name of its resource')
    .addOption(new Option('--state <state>', 'the new state').choices(alarmStates).makeOptionMandatory())
    .addOption(formatOption())
    .addHelpText('after', exampleText('alarm set high --state alarm', 'alarm set high --state ok'))
    .action(async (name, { state, output: format }) => {
      const shown = await (await context.part('alarms')).set({ alarm: name, state });
      output.one(format, shown, () => fields(shown, output.colors));
    });
}
