/** `anneal metric …` */
import { durationSeconds } from '@anneal/contracts/readers/duration.ts';
import type { MetricResults } from '@anneal/client/metrics.ts';
import { plainAggregates } from '@anneal/contracts/calls/measuring.ts';
import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatAge, formatClock } from '@anneal/client/text/time.ts';
import { collect, exampleText, formatOption, positiveInteger, readPairs } from '../options/options.ts';

const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

function duration(text: string): number {
  const seconds = durationSeconds(text);
  if (seconds !== undefined && seconds > 0) return seconds;
  throw new InvalidArgumentError('Must be a duration such as 90, 90s, 15m, 6h, 2d or PT1H30M.');
}

function numberFrom(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('Must be a number.');
  return value;
}

/** One row for each period, one column for each result. */
const pointRows = ({ results }: MetricResults) =>
  results.flatMap((result) => result.points.map(({ at, value }) => ({ at, value, labels: result.labels })));

export function addMetricCommands(program: Command, context: CliContext): void {
  const noun = program.command('metric').description('post and read measurements of hosts and applications');
  addPost(noun, context);
  addList(noun, context);
  addShow(noun, context);
}

function addPost(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('post <name>')
    .argument('<value>', 'a number', numberFrom)
    .description('post a measurement')
    .option('--label <name=value>', 'label of the measurement; may be repeated', collect, [])
    .option('--unit <unit>', 'unit of the value')
    .option('--at <time>', 'time of the measurement, e.g. 2026-11-23T08:00:00Z (default: now)')
    .option('--id <id>', 'id of the batch; a repeat with the same id adds nothing')
    .addOption(formatOption())
    .addHelpText('after', exampleText('metric post requests 42', 'metric post load 0.7 --label instance=web1'))
    .action(async (name, value, { label, unit, at, id, output: format }) => {
      const labels = readPairs(label, '--label');
      const measurement = { name, value, labels, ...(unit && { unit }), ...(at && { at }) };
      const posted = await (
        await context.part('metrics')
      ).post({ measurements: [measurement], ...(id !== undefined && { id }) });
      if (format !== 'table') output.value(format, posted);
      else output.line(posted.stored === 1 ? `Stored ${name}.` : `${name} was stored before.`);
    });
}

function addList(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('list [name]')
    .description('list the series of measurements')
    .option('--label <name=value>', 'only series with this label; may be repeated', collect, [])
    .option('--limit <n>', 'maximum number of results', positiveInteger, 1000)
    .addOption(formatOption())
    .addHelpText('after', exampleText('metric list', 'metric list load --label stack_name=web'))
    .action(async (name, { label, limit, output: format }) => {
      const rows = await (await context.part('metrics')).list({ name, where: readPairs(label, '--label'), limit });
      output.list(format, {
        rows,
        none: 'No measurements.',
        columns: {
          name: (row) => row.name,
          unit: (row) => row.unit,
          labels: (row) => labelsText(row.labels),
          last: (row) => formatAge(row.last_at, context.now()),
        },
      });
    });
}

function addShow(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('show <name>')
    .description('aggregate measurements over labels and time')
    .option('--label <name=value>', 'only series with this label; may be repeated', collect, [])
    .option('--by <label>', 'one result for each value of this label; may be repeated', collect, [])
    .option('--aggregate <how>', `${plainAggregates.join(', ')}, 95pct, rate:mean, …`, 'mean')
    .option('--granularity <duration>', 'duration of a point', duration, 60)
    .option('--since <duration>', 'how far back to begin', duration, 3600)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'metric show load --label stack_name=web',
        'metric show load --by member --aggregate 95pct --since 6h',
      ),
    )
    .action(async (name, { label, by, aggregate, granularity, since, output: format }) => {
      const to = context.now();
      const found = await (
        await context.part('metrics')
      ).query({
        name,
        where: readPairs(label, '--label'),
        by,
        aggregate,
        granularity,
        from: new Date(to - since * 1000).toISOString(),
        to: new Date(to).toISOString(),
      });
      if (format !== 'table') {
        output.value(format, found.results);
        return;
      }
      output.list(format, {
        rows: pointRows(found),
        none: `No measurements named ${name} in this time.`,
        columns: {
          time: (row) => formatClock(row.at),
          labels: (row) => labelsText(row.labels),
          value: (row) => row.value,
        },
      });
    });
}
