/** `anneal workflow …` */
import { setTimeout as wait } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { jsonIn, jsonOrText } from '@anneal/contracts/plain-json.ts';
import type {
  CronTriggerView,
  ExecutionTaskView,
  ExecutionView,
  WorkflowView,
} from '@anneal/contracts/calls/workflow.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { forEachOf } from './each.ts';
import { paintStatus } from '../print/status.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import { readText } from '../options/files.ts';
import { collect, exampleText, formatOption, positiveInteger, readPairs } from '../options/options.ts';

export function addWorkflowCommands(program: Command, context: CliContext): void {
  const noun = program.command('workflow').description('store workflows; start, follow and repair their executions');
  addDefinitionCommands(noun, context);
  addStartCommand(noun, context);
  addExecutionReads(noun, context);
  addExecutionVerbs(noun, context);
  addExecutionRemoval(noun, context);
  addTaskVerbs(noun, context);
  addScheduleCommands(noun, context);
}

function addDefinitionCommands(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('create <file>')
    .description('store the workflows of a file, all of them or none')
    .option('--replace', 'replace workflows of the same name; executions that run keep their own', false)
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow create move.yaml', 'workflow create move.yaml --replace'))
    .action(async (file, { replace, output: format }) => {
      const text = await readText(file, context.cwd);
      const rows = await (await context.part('workflows')).create({ text, replace });
      output.list(format, { rows, none: 'No workflows.', columns: workflowColumns });
    });
  noun
    .command('list')
    .description('list workflows')
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow list'))
    .action(async ({ output: format }) => {
      const rows = await (await context.part('workflows')).list();
      output.list(format, { rows, none: 'No workflows.', columns: workflowColumns });
    });
  noun
    .command('show <workflow>')
    .description('show a workflow by name or id')
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow show move'))
    .action(async (workflow, { output: format }) => {
      const shown = await (await context.part('workflows')).show({ workflow });
      output.one(format, shown, () => [
        ['name', shown.name],
        ['id', shown.id],
        ['description', shown.description],
        ['type', shown.type],
        ['input', shown.input.map(inputText).join(', ')],
        ['tasks', shown.tasks.join(', ')],
        ['resource', shown.resource],
        ['updated', shown.updated_at],
      ]);
    });
  noun
    .command('delete <workflows...>')
    .description('delete workflows; their executions stay')
    .addHelpText('after', exampleText('workflow delete move'))
    .action(async (names) => {
      const workflows = await context.part('workflows');
      await forEachOf(names, context, async (workflow) => {
        await workflows.delete({ workflow });
        output.line(`Deleted ${workflow}.`);
      });
    });
}

const inputText = ({ name, required, default: value }: WorkflowView['input'][number]): string =>
  required ? name : `${name}=${JSON.stringify(value)}`;

const workflowColumns = {
  name: (row: WorkflowView) => row.name,
  type: (row: WorkflowView) => row.type,
  input: (row: WorkflowView) => row.input.map(inputText).join(', '),
  tasks: (row: WorkflowView) => row.tasks.length,
  updated: (row: WorkflowView) => row.updated_at,
};

function addStartCommand(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('start <workflow>')
    .description('start an execution of a workflow')
    .option('-i, --input <name=value>', 'input; JSON or a text; may be repeated', collect, [])
    .option('--input-file <file>', 'all inputs as a JSON object')
    .option('--task <name>', 'the task that a reverse workflow runs for')
    .option('--id <uuid>', 'id of the execution; a repeat with the same id starts nothing new')
    .option('--wait', 'wait for the end; the exit status is 1 unless it is SUCCESS', false)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('workflow start move -i host=serv1 --wait', 'workflow start all -i \'hosts=["a","b"]\''),
    )
    .action(async (workflow, { input, inputFile, task, id, wait: waits, output: format }) => {
      const given = inputFile === undefined ? {} : await readInput(inputFile, context.cwd);
      const pairs = Object.entries(readPairs(input, '--input')).map(
        ([name, text]) => [name, jsonOrText(text)] as const,
      );
      const executions = await context.part('executions');
      const all = { ...given, ...Object.fromEntries(pairs) };
      const started = await executions.start({ workflow, input: all, task_name: task, id });
      const shown = waits ? await ended(context, started) : started;
      output.one(format, shown, () => executionFields(shown, context));
      if (waits && shown.state !== 'SUCCESS') {
        throw new AnnealError('ResourceFailed', `Workflow ${workflow} ended ${shown.state}: ${shown.reason ?? ''}`);
      }
    });
}

async function readInput(file: string, cwd: string): Promise<JsonObject> {
  const parsed = jsonIn(await readText(file, cwd));
  if (isObject(parsed)) return parsed;
  throw new AnnealError('InvalidRequest', `${file} must hold a JSON object: the inputs by name.`);
}

/** The execution once it has ended. */
async function ended(context: CliContext, started: ExecutionView): Promise<ExecutionView> {
  const executions = await context.part('executions');
  for (let shown = started; ;) {
    if (shown.finished_at !== null) return shown;
    await wait(500, undefined, { signal: context.interrupt });
    shown = (await executions.show({ id: started.id })).execution;
  }
}

function addExecutionReads(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('executions')
    .description('list executions, the newest first')
    .option('--workflow <name>', 'only those of this workflow')
    .option('--limit <n>', 'maximum number of results', positiveInteger, 50)
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow executions --workflow move'))
    .action(async ({ workflow, limit, output: format }) => {
      const rows = await (await context.part('executions')).list({ workflow, limit });
      output.list(format, {
        rows,
        none: 'No executions.',
        key: 'id',
        columns: {
          workflow: (row) => row.workflow,
          state: (row, colors) => paintStatus(row.state, colors),
          reason: (row) => row.reason,
          started: (row) => formatAge(row.created_at, context.now()),
          by: (row) => `${row.started_by.kind} ${row.started_by.name}`,
          id: (row) => row.id,
        },
      });
    });
  noun
    .command('execution <id>')
    .description('show an execution')
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow execution run-0198…'))
    .action(async (id, { output: format }) => {
      const { execution } = await (await context.part('executions')).show({ id });
      output.one(format, execution, () => executionFields(execution, context));
    });
  noun
    .command('tasks <id>')
    .description('list the runs of the tasks of an execution, in the order of their starts')
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow tasks run-0198…'))
    .action(async (id, { output: format }) => {
      const { tasks } = await (await context.part('executions')).show({ id });
      output.list(format, { rows: tasks, none: 'No tasks have run.', columns: taskColumns(context) });
    });
}

const taskColumns = (context: CliContext) => ({
  task: (row: ExecutionTaskView) => row.name,
  calls: (row: ExecutionTaskView) => row.calls,
  state: (row: ExecutionTaskView) => paintStatus(row.state, context.output.colors),
  attempt: (row: ExecutionTaskView) => row.attempt,
  items: (row: ExecutionTaskView) => `${row.items.ended}/${row.items.total}`,
  reason: (row: ExecutionTaskView) => row.reason,
});

const executionFields = (shown: ExecutionView, { output }: CliContext): (readonly [string, unknown])[] => [
  ['id', shown.id],
  ['workflow', shown.workflow],
  ['state', paintStatus(shown.state, output.colors)],
  ['reason', shown.reason],
  ['input', shown.input],
  ['output', shown.output],
  ['stack', shown.stack?.name ?? null],
  ['parent', shown.parent && `${shown.parent.execution_id}, task ${shown.parent.task}`],
  ['started by', `${shown.started_by.kind} ${shown.started_by.name}`],
  ['started', shown.created_at],
  ['finished', shown.finished_at],
];

const verbs = [
  ['pause', 'start nothing new; what runs may end'],
  ['resume', 'continue a paused execution'],
  ['cancel', 'stop an execution, its actions and its sub-workflows'],
] as const;

function addExecutionVerbs(noun: Command, context: CliContext): void {
  for (const [kind, description] of verbs) {
    noun
      .command(`${kind} <ids...>`)
      .description(description)
      .addHelpText('after', exampleText(`workflow ${kind} run-0198…`))
      .action(async (ids) => {
        const executions = await context.part('executions');
        for (const id of ids) {
          const { state } = await executions.act({ id, action: { kind } });
          context.output.line(`${id} is ${state}.`);
        }
      });
  }
}

function addExecutionRemoval(noun: Command, context: CliContext): void {
  noun
    .command('forget <ids...>')
    .description('delete ended executions, their tasks and results')
    .addHelpText('after', exampleText('workflow forget run-0198…'))
    .action(async (ids) => {
      const executions = await context.part('executions');
      for (const id of ids) {
        await executions.act({ id, action: { kind: 'delete' } });
        context.output.line(`${id} is deleted.`);
      }
    });
}

function addTaskVerbs(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('rerun <id> <task>')
    .description('repeat a failed task; the execution continues from there')
    .option('--failed-items-only', 'with-items: keep the results of the items that succeeded', false)
    .addHelpText('after', exampleText('workflow rerun run-0198… drain'))
    .action(async (id, task, { failedItemsOnly }) => {
      const action = { kind: 'rerun', task, failed_items_only: failedItemsOnly } as const;
      const { state } = await (await context.part('executions')).act({ id, action });
      output.line(`${id} is ${state}.`);
    });
  noun
    .command('skip <id> <task>')
    .description('skip a failed task: it takes on-skip, or on-success')
    .addHelpText('after', exampleText('workflow skip run-0198… drain'))
    .action(async (id, task) => {
      const { state } = await (await context.part('executions')).act({ id, action: { kind: 'skip', task } });
      output.line(`${id} is ${state}.`);
    });
  noun
    .command('complete <id> <task>')
    .description('complete a task that waits for a client (std.async_noop)')
    .option('--result <value>', 'the result; JSON or a text')
    .option('--fail', 'end the task in ERROR', false)
    .addHelpText('after', exampleText('workflow complete run-0198… approve --result yes'))
    .action(async (id, task, { result, fail }) => {
      const value = result === undefined ? null : jsonOrText(result);
      const action = { kind: 'complete', task, state: fail ? 'ERROR' : 'SUCCESS', output: value } as const;
      const { state } = await (await context.part('executions')).act({ id, action });
      output.line(`${id} is ${state}.`);
    });
}

function addScheduleCommands(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('schedule <name> <workflow>')
    .description('start a workflow at the times of a cron expression')
    .option('--pattern <cron>', 'cron expression with five fields, in UTC')
    .option('--first-time <time>', 'the first execution, in ISO 8601; later ones follow the pattern')
    .option('--count <n>', 'number of executions; without a pattern there is one', positiveInteger)
    .option('-i, --input <name=value>', 'input; JSON or a text; may be repeated', collect, [])
    .addOption(formatOption())
    .addHelpText('after', exampleText("workflow schedule nightly backup --pattern '0 2 * * *'"))
    .action(async (name, workflow, { pattern, firstTime, count, input, output: format }) => {
      const pairs = Object.entries(readPairs(input, '--input')).map(([key, text]) => [key, jsonOrText(text)] as const);
      const shown = await (
        await context.part('cronTriggers')
      ).create({
        name,
        workflow,
        input: Object.fromEntries(pairs),
        pattern,
        first_time: firstTime,
        count,
      });
      output.one(format, shown, () => Object.entries(cronColumns).map(([key, of]) => [key, of(shown)] as const));
    });
  noun
    .command('schedules')
    .description('list the cron triggers, those of stacks too')
    .addOption(formatOption())
    .addHelpText('after', exampleText('workflow schedules'))
    .action(async ({ output: format }) => {
      const rows = await (await context.part('cronTriggers')).list();
      output.list(format, { rows, none: 'No cron triggers.', columns: cronColumns });
    });
  noun
    .command('unschedule <names...>')
    .description('delete cron triggers; their executions stay')
    .addHelpText('after', exampleText('workflow unschedule nightly'))
    .action(async (names) => {
      const cronTriggers = await context.part('cronTriggers');
      for (const name of names) {
        await cronTriggers.delete({ name });
        output.line(`Deleted ${name}.`);
      }
    });
}

const cronColumns = {
  name: (row: CronTriggerView) => row.name,
  workflow: (row: CronTriggerView) => row.workflow,
  pattern: (row: CronTriggerView) => row.pattern,
  next: (row: CronTriggerView) => row.next_execution_time,
  remaining: (row: CronTriggerView) => row.remaining_executions,
  resource: (row: CronTriggerView) => row.resource,
};
