/** `anneal stack …` */
import type { Stack } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { rootCause } from '@anneal/contracts/root-cause.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { printWarnings } from '../print/warning.ts';
import { paintStatus } from '../print/status.ts';
import { shownState } from '@anneal/client/text/stack-state.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { Reported } from '../exit.ts';
import { confirm, yesOption } from './confirm.ts';
import { describeDeletion } from './deletion.ts';
import { failureOfEach } from './each.ts';
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
  bodyLimitOf,
  readBundle,
  readParameterOptions,
  waitOption,
  wholeNumber,
} from '../options/options.ts';
import { outputText } from './output.ts';
import { lastEvent, settle } from './settle.ts';
import { addStackImport } from './stack-import.ts';
import { addStackHistory } from './stack-history.ts';
import { addStackWait } from './stack-wait.ts';
import { addStackActionCommands } from './stack-action.ts';

export function addStackCommands(program: Command, context: CliContext): void {
  const stack = program.command('stack').description('create, update and inspect stacks');
  addCreate(stack, context);
  addUpdate(stack, context);
  addDelete(stack, context);
  addStackWait(stack, context);
  addStackActionCommands(stack, context);
  addStackImport(stack, context);
  addReaders(stack, context);
  addStackHistory(stack, context);
}

function addCreate(stack: Command, context: CliContext): void {
  stack
    .command('create <name>')
    .description('create a stack from a template')
    .option('-t, --template <file>', 'template: a file or a URL')
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
      const { template } = options;
      if (template === undefined) {
        throw new AnnealError('InvalidRequest', `Cannot create ${name}: give --template FILE, a file or a URL.`);
      }
      const bundle = await readBundle({
        template,
        environments: options.environment,
        cwd: context.cwd,
        bodyLimit: bodyLimitOf(context),
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
      printWarnings(context.output, ref.warnings, template);
      const began = { begun: `Creating ${name}`, wanted: 'CREATE' };
      await settle({ context, client, ref, wait: options.wait, format: options.output, ...began });
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
      if (template === undefined && !options.existing) {
        throw new AnnealError(
          'InvalidRequest',
          `Cannot update ${name}: give --template FILE, or --existing to keep the template that it has.`,
        );
      }
      const bundle =
        template === undefined
          ? undefined
          : await readBundle({ template, environments, cwd: context.cwd, bodyLimit: bodyLimitOf(context) });
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
      const began = { begun: `Updating ${ref.name}`, wanted: 'UPDATE' };
      await settle({ context, client, ref, wait: options.wait, format: options.output, after, ...began });
    });
}

function addDelete(stack: Command, context: CliContext): void {
  stack
    .command('delete <stacks...>')
    .description('delete stacks and all their resources')
    .addOption(yesOption())
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack delete web', 'stack delete web db --yes --no-wait'))
    .action(async (names, options) => {
      const client = await context.client();
      await confirm(context, { yes: options.yes, what: async () => describeDeletion(client, names) });
      const begun: { ref: { id: string; name: string }; after: string | undefined }[] = [];
      // Start all deletions before waiting for the first. A stack that cannot be deleted keeps no other.
      const start = async (name: string): Promise<void> => {
        const after = await lastEvent(client, name);
        begun.push({ ref: await client.stacks.delete({ stack: name }), after });
      };
      const refused = await failureOfEach(names, context, start);
      const failed = await failureOfEach(begun, context, async ({ ref, after }) => {
        await settle({
          context,
          client,
          ref,
          wait: options.wait,
          format: options.output,
          after,
          begun: `Deleting ${ref.name}`,
          wanted: 'DELETE',
        });
      });
      const status = refused ?? failed;
      if (status !== undefined) throw new Reported(status);
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
    .option('--all-projects', 'the stacks of every project; only for operators')
    .option('--limit <n>', 'maximum number of results', positiveInteger)
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack list', 'stack list --status CREATE_FAILED -o json'))
    .action(async ({ output: format, deleted, nested, status, allProjects, limit }) => {
      const { stacks, why } = await context.parts(['stacks', 'why']);
      const naming = allProjects && format === 'table' ? (await context.part('identity')).projects.list() : [];
      // Without explanations, as from a server that is partly down, the list is still right.
      const explaining = why.lines().catch(() => undefined);
      const listing = stacks.list({
        ...(deleted && { deleted }),
        ...(nested && { nested }),
        ...(status !== undefined && { status }),
        ...(allProjects && { allProjects }),
        ...(limit !== undefined && { limit }),
      });
      // Together, because a user without the right gets an error from each.
      const [found, lines, projects] = await Promise.all([listing, explaining, naming]);
      const rows = found.map((row) => ({ ...row, why: lines?.get(row.id) ?? null }));
      const names = new Map(projects.map(({ id, name }) => [id, name]));
      output.list(format, {
        rows,
        none: 'No stacks.',
        note: 'why',
        columns: {
          name: (row) => row.stack_name,
          status: (row, colors) => paintStatus(shownState(row), colors),
          age: (row) => formatAge(row.creation_time, context.now()),
          ...(allProjects && { project: (row: (typeof rows)[number]) => names.get(row.project ?? '') ?? row.project }),
          ...(rows.some(({ why: line }) => line !== null) && { why: (row: (typeof rows)[number]) => row.why }),
          id: (row) => row.id,
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
      const { stacks, why } = await context.parts(['stacks', 'why']);
      const shown = await stacks.show({ stack: name });
      const line = format === 'table' ? await why.explain({ stack: shown.id }).catch(() => undefined) : undefined;
      output.one(format, shown, () =>
        stackFields(shown, { context, why: line && line.exits.length > 0 ? line.summary : undefined }),
      );
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
    .option('--depth <n>', 'include nested stacks down to this depth', wholeNumber)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'stack events web',
        'stack events web --depth 2',
        'stack events web --follow',
        'stack events web --resource db -o json',
      ),
    )
    .action(async (name, { output: format, follow, resource, limit, depth }) => {
      const { eventLine, placedIn } = await import('../print/event-line.ts');
      const client = await context.client();
      const newest = await client.stacks.events({
        stack: name,
        resource,
        limit: limit ?? 1000,
        descending: true,
        depth,
      });
      const rows = newest.toReversed().map((row) => (depth === undefined ? row : placedIn(row, name)));
      if (!follow) {
        if (format !== 'table') output.value(format, rows);
        else if (rows.length === 0) output.line('No events.');
        else for (const row of rows) output.prose(eventLine(row, output.colors));
        return;
      }
      // A JSON or YAML document of an endless list cannot be closed, so print followed events as text. Programs use
      // `event watch -o json`.
      for (const row of rows) output.prose(eventLine(row, output.colors));
      const { followStack } = await import('../progress/follow.ts');
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
              output.prose(eventLine(event, output.colors));
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
      const shown = await (await context.part('stacks')).show({ stack: name, outputs: false });
      if (format !== 'table') output.value(format, shown.failures);
      else if (shown.failures.length === 0) output.line(`${shown.stack_name} has no failures (${shown.stack_status}).`);
      else {
        const { describeFailedStack } = await import('../print/failed-stack.ts');
        for (const line of describeFailedStack(shown, output.colors)) output.prose(line);
      }
    });
}

/** Not the message that the field `reason` holds. */
const conditionText = (stack: Stack, { message, reason }: Stack['conditions'][number]): string =>
  message === '' || message === stack.stack_status_reason ? reason : message;

function stackFields(
  stack: Stack,
  { context, why }: { context: CliContext; why: string | undefined },
): (readonly [string, unknown])[] {
  const { colors } = context.output;
  return [
    ['name', stack.stack_name],
    ['id', stack.id],
    ['description', stack.description ?? ''],
    ['status', paintStatus(shownState(stack), colors)],
    ...(why ? [['why', why] as const] : []),
    ['reason', stack.stack_status_reason ?? ''],
    ['created', stack.creation_time ?? ''],
    ['updated', stack.updated_time ?? ''],
    ['timeout', stack.timeout_mins === null ? '' : `${stack.timeout_mins} minutes`],
    ['on failure', stack.on_failure],
    ['tags', (stack.tags ?? []).join(', ')],
    ...Object.entries(stack.parameters).map(([name, value]) => [`parameter ${name}`, value] as const),
    ...(stack.outputs ?? []).map((one) => [`output ${one.output_key}`, outputText(one)] as const),
    ...stack.conditions.map((one) => [`condition ${one.type}`, `${one.status}: ${conditionText(stack, one)}`] as const),
    ...stack.failures.map(
      ({ resource, failure }) => [`failure ${resource}`, colors.red(`${rootCause(resource, failure)}.`)] as const,
    ),
  ];
}
