/** `anneal stack …` */
import type { Stack } from '@anneal/client/representation.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeFailedStack } from '../print/failed-stack.ts';
import { printWarnings } from '../print/warning.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '../print/time.ts';
import { followStack } from '../progress/follow.ts';
import { eventLine } from '../progress/show.ts';
import {
  clearParameterOption,
  collect,
  environmentOption,
  exampleText,
  existingOption,
  formatOption,
  noWaitOption,
  onFailureOption,
  otherTemplateOption,
  parameterFileOption,
  parameterOption,
  positiveInteger,
  readBundle,
  readParameterOptions,
  waitOption,
} from './options.ts';
import { outputText } from './output.ts';
import { lastEvent, settle } from './settle.ts';
import { addStackActionCommands } from './stack-action.ts';

export function addStackCommands(program: Command, context: CliContext): void {
  const stack = program.command('stack').description('create, update and inspect stacks');
  addCreate(stack, context);
  addUpdate(stack, context);
  addDelete(stack, context);
  addStackActionCommands(stack, context);
  addReaders(stack, context);
}

function addCreate(stack: Command, context: CliContext): void {
  stack
    .command('create <name>')
    .description('create a stack from a template')
    .requiredOption('-t, --template <file>', 'template: a file or a URL')
    .addOption(environmentOption())
    .addOption(parameterOption())
    .addOption(parameterFileOption())
    .option('--timeout <minutes>', 'fail if the action takes longer', positiveInteger)
    .addOption(onFailureOption())
    .option('--rollback', 'the same as --on-failure rollback')
    .option('--tag <tag>', 'tag of the stack; may be repeated', collect, [])
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack create web -t web.yaml', 'stack create web -t web.yaml -e prod.yaml -P version=2 --wait'),
    )
    .action(async (name, options) => {
      const bundle = await readBundle({
        template: options.template,
        environments: options.environment,
        cwd: context.cwd,
      });
      const parameters = await readParameterOptions({ ...options, cwd: context.cwd });
      const client = await context.client();
      const ref = await client.stacks.create({
        name,
        bundle,
        parameters,
        timeoutMinutes: options.timeout,
        onFailure: options.onFailure ?? (options.rollback ? 'rollback' : undefined),
        ...(options.tag.length > 0 && { tags: options.tag }),
      });
      printWarnings(context.output, ref.warnings, options.template);
      const begun = `Creating ${name}`;
      await settle({ context, client, ref, wait: options.wait, format: options.output, begun });
    });
}

const policyOf = (rollback: boolean | undefined) =>
  rollback === undefined ? undefined : rollback ? ('rollback' as const) : ('keep' as const);

function addUpdate(stack: Command, context: CliContext): void {
  stack
    .command('update <stack>')
    .description('update a stack with a new template or new parameters')
    .addOption(otherTemplateOption())
    .addOption(environmentOption())
    .addOption(parameterOption())
    .addOption(parameterFileOption())
    .addOption(existingOption())
    .addOption(clearParameterOption())
    .option('--timeout <minutes>', 'fail if the action takes longer', positiveInteger)
    .addOption(onFailureOption())
    .option('--rollback', 'the same as --on-failure rollback')
    .option('--no-rollback', 'the same as --on-failure keep')
    .option('--converge', 'first compare the resources with reality and repair differences')
    .option('--plan <hash>', 'refuse the update unless its plan has this hash')
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack update web -t web.yaml -P version=3', 'stack update web --existing -P version=3 --wait'),
    )
    .action(async (name, options) => {
      const { template, environment: environments } = options;
      const bundle =
        template === undefined ? undefined : await readBundle({ template, environments, cwd: context.cwd });
      const parameters = await readParameterOptions({ ...options, cwd: context.cwd });
      const client = await context.client();
      const after = await lastEvent(client, name);
      const ref = await client.stacks.update({
        stack: name,
        bundle,
        existing: options.existing,
        parameters,
        timeoutMinutes: options.timeout,
        onFailure: options.onFailure ?? policyOf(options.rollback),
        converge: options.converge,
        planHash: options.plan,
        ...(options.clearParameter.length > 0 && { clearParameters: options.clearParameter }),
      });
      printWarnings(context.output, ref.warnings, options.template);
      const begun = `Updating ${ref.name}`;
      await settle({ context, client, ref, wait: options.wait, format: options.output, after, begun });
    });
}

function addDelete(stack: Command, context: CliContext): void {
  stack
    .command('delete <stacks...>')
    .description('delete stacks and all their resources')
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack delete web', 'stack delete web db --no-wait'))
    .action(async (names, options) => {
      const client = await context.client();
      const begun: { ref: { id: string; name: string }; after: string | undefined }[] = [];
      // Start all deletions before waiting for the first.
      for (const name of names) {
        const after = await lastEvent(client, name);
        begun.push({ ref: await client.stacks.delete({ stack: name }), after });
      }
      for (const { ref, after } of begun) {
        await settle({
          context,
          client,
          ref,
          wait: options.wait,
          format: options.output,
          after,
          begun: `Deleting ${ref.name}`,
        });
      }
    });
}

function addReaders(stack: Command, context: CliContext): void {
  addStackList(stack, context);
  addStackShow(stack, context);
  addStackEvents(stack, context);
  addStackFailures(stack, context);
}

function addStackList(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('list')
    .description('list stacks, newest first')
    .option('--deleted', 'include deleted stacks')
    .option('--nested', 'include nested stacks')
    .option('--status <status>', 'only stacks in this state, e.g. CREATE_FAILED')
    .option('--limit <n>', 'maximum number of results', positiveInteger)
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack list', 'stack list --status CREATE_FAILED -o json'))
    .action(async ({ output: format, deleted, nested, status, limit }) => {
      const client = await context.client();
      const rows = await client.stacks.list({
        ...(deleted && { deleted }),
        ...(nested && { nested }),
        ...(status !== undefined && { status }),
        ...(limit !== undefined && { limit }),
      });
      output.list(format, {
        rows,
        none: 'No stacks.',
        columns: {
          name: (row) => row.stack_name,
          id: (row) => row.id,
          status: (row, colors) => paintStatus(row.stack_status, colors),
          age: (row) => formatAge(row.creation_time, context.now()),
        },
      });
    });
}

function addStackShow(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('show <stack>')
    .description('show a stack: state, parameters, outputs')
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack show web', 'stack show web -o yaml'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.client()).stacks.show({ stack: name });
      output.one(format, shown, () => stackFields(shown, context));
    });
}

function addStackEvents(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('events <stack>')
    .description('list the events of a stack, oldest first')
    .option('-f, --follow', 'keep printing events until the current action has ended')
    .option('--resource <name>', 'only events of this resource')
    .option('--limit <n>', 'maximum number of events, the latest ones', positiveInteger)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack events web', 'stack events web --follow', 'stack events web --resource db -o json'),
    )
    .action(async (name, { output: format, follow, resource, limit }) => {
      const client = await context.client();
      const newest = await client.stacks.events({ stack: name, resource, limit: limit ?? 1000, descending: true });
      const rows = newest.toReversed();
      if (!follow) {
        if (format !== 'table') output.value(format, rows);
        else if (rows.length === 0) output.line('No events.');
        else for (const row of rows) output.line(eventLine(row, output.colors));
        return;
      }
      // A JSON or YAML document of an endless list cannot be closed, so print followed events as text. Programs use
      // `event watch -o json`.
      for (const row of rows) output.line(eventLine(row, output.colors));
      const { id: stackId } = await client.stacks.find({ stack: name });
      await followStack({
        client,
        stackId,
        after: (await lastEvent(client, stackId)) ?? undefined,
        signal: context.interrupt,
        onOutage: (error) => output.note(error ? `${error.message} Retrying.` : 'Reconnected to the server.'),
        onProgress({ events }) {
          for (const event of events) {
            if (resource === undefined || event.resource_name === resource)
              output.line(eventLine(event, output.colors));
          }
        },
      });
    });
}

function addStackFailures(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('failures <stack>')
    .description('show why a stack failed, root cause first, with script output')
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack failures web', 'stack failures web -o json'))
    .action(async (name, { output: format }) => {
      const shown = await (await context.client()).stacks.show({ stack: name, outputs: false });
      if (format !== 'table') output.value(format, shown.failures);
      else if (shown.failures.length === 0) output.line(`${shown.stack_name} has no failures (${shown.stack_status}).`);
      else for (const line of describeFailedStack(shown, output.colors)) output.line(line);
    });
}

function stackFields(stack: Stack, context: CliContext): (readonly [string, string])[] {
  const { colors } = context.output;
  return [
    ['name', stack.stack_name],
    ['id', stack.id],
    ['description', stack.description ?? ''],
    ['status', paintStatus(stack.stack_status, colors)],
    ['reason', stack.stack_status_reason ?? ''],
    ['created', stack.creation_time ?? ''],
    ['updated', stack.updated_time ?? ''],
    ['timeout', stack.timeout_mins === null ? '' : `${stack.timeout_mins} minutes`],
    ['on failure', stack.on_failure],
    ['tags', (stack.tags ?? []).join(', ')],
    ...Object.entries(stack.parameters).map(
      ([name, value]) => [`parameter ${name}`, typeof value === 'string' ? value : JSON.stringify(value)] as const,
    ),
    ...(stack.outputs ?? []).map((one) => [`output ${one.output_key}`, outputText(one)] as const),
    ...stack.conditions.map((one) => [`condition ${one.type}`, `${one.status}: ${one.message || one.reason}`] as const),
    ...stack.failures.map((one) => [`failure ${one.resource}`, colors.red(one.failure.message)] as const),
  ];
}
