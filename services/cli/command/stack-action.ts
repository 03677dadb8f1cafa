/** `anneal stack …`: stack actions besides create, update and delete. */
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { StackAct } from '@anneal/contracts/calls/stacks.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { printWarnings } from '../print/warning.ts';
import { planLines } from '../print/plan.ts';
import { exitCodes, Reported } from '../exit.ts';
import type { Format } from '../output.ts';
import { confirm, yesOption } from './confirm.ts';
import { failureOfEach } from './each.ts';
import { readJsonFile, writeMade } from '../options/files.ts';
import { stackExists } from './named.ts';
import {
  clearParameterOption,
  environmentOption,
  exampleText,
  existingOption,
  formatOption,
  noWaitOption,
  otherTemplateOption,
  parameterFileOption,
  parameterOption,
  bodyLimitOf,
  readBundle,
  readParameterOptions,
  waitOption,
} from '../options/options.ts';
import { lastEvent, settle } from './settle.ts';

export function addStackActionCommands(stack: Command, context: CliContext): void {
  addPlan(stack, context);
  addActions(stack, context);
  addTakeaway(stack, context);
}

function addPlan(stack: Command, context: CliContext): void {
  stack
    .command('plan <stack>')
    .description('show the changes that an update would make, or a create if the stack does not exist; read-only')
    .addOption(otherTemplateOption())
    .addOption(environmentOption())
    .addOption(parameterOption())
    .addOption(parameterFileOption())
    .addOption(existingOption())
    .addOption(clearParameterOption())
    .option('--detailed-exitcode', 'exit status 0 without changes, 2 with changes, 1 for every error')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack plan web -t web.yaml -P version=3', 'stack update web -t web.yaml -P version=3 --plan <hash>'),
    )
    .action(async (name, options) => {
      let changes = 0;
      const plan = async (which: string): Promise<void> => {
        changes = await showPlan(context, which, options);
      };
      if (!options.detailedExitcode) return plan(name);
      // Exit status 2 means changes here, so every error has 1.
      const failed = await failureOfEach([name], context, plan);
      if (failed !== undefined) throw new Reported(exitCodes.failed);
      if (changes > 0) throw new Reported(2);
      return undefined;
    });
}

interface PlanOptions {
  readonly template?: string | undefined;
  readonly environment: readonly string[];
  readonly parameter: readonly string[];
  readonly parameterFile: readonly string[];
  readonly clearParameter: readonly string[];
  readonly existing?: boolean | undefined;
  readonly output: Format;
}

/** Returns how many resources would change. */
async function showPlan(context: CliContext, name: string, options: PlanOptions): Promise<number> {
  const { output } = context;
  const { template, environment: environments, existing } = options;
  const bundle =
    template === undefined
      ? undefined
      : await readBundle({ template, environments, cwd: context.cwd, bodyLimit: bodyLimitOf(context) });
  if (!bundle && !existing) {
    throw new AnnealError('InvalidRequest', 'A plan needs a template: give --template, or --existing.');
  }
  const parameters = await readParameterOptions({ ...options, cwd: context.cwd });
  const client = await context.parts(['actions', 'stacks']);
  const exists = await stackExists(client, name);
  const plan = await client.actions.plan({
    stack: name,
    bundle,
    existing,
    parameters,
    fresh: !exists,
    ...(options.clearParameter.length > 0 && { clearParameters: options.clearParameter }),
  });
  const changes = plan.changes.filter(({ change }) => change !== 'unchanged').length;
  printWarnings(output, plan.warnings, options.template);
  if (options.output !== 'table') {
    output.value(options.output, plan);
    return changes;
  }
  for (const line of planLines(plan.changes, output.colors)) output.prose(line);
  if (exists)
    output.line(
      `Plan ${plan.hash}. To apply exactly this plan, run \`stack update\` with the same options and --plan <hash>.`,
    );
  return changes;
}

function addActions(stack: Command, context: CliContext): void {
  const add = (
    name: string,
    about: { description: string; begun: string; wanted?: string; action: StackAct; more?: readonly string[] },
  ): void => {
    stack
      .command(`${name} <stack>`)
      .description(about.description)
      .addOption(waitOption())
      .addOption(noWaitOption())
      .addOption(formatOption())
      .addHelpText('after', exampleText(`stack ${name} web`, ...(about.more ?? [])))
      .action((given, options) => start(context, { ...options, stack: given, ...about }));
  };
  add('check', {
    description: 'compare the resources of a stack with reality and report drift; read-only',
    begun: 'Checking',
    action: { kind: 'check' },
    more: ['resource show web server'],
  });
  add('suspend', {
    description: 'suspend the resources of a stack',
    begun: 'Suspending',
    action: { kind: 'suspend' },
  });
  add('resume', {
    description: 'resume the resources of a suspended stack',
    begun: 'Resuming',
    action: { kind: 'resume' },
  });
  add('retry', {
    description: 'retry the failed action',
    begun: 'Retrying',
    action: { kind: 'retry' },
  });
  add('rollback', {
    description: 'roll back to the last complete state',
    begun: 'Rolling back',
    wanted: 'ROLLBACK',
    action: { kind: 'rollback' },
  });
  stack
    .command('cancel <stack>')
    .description('cancel the current action and roll back to the last complete state')
    .option('--no-rollback', 'keep the current state instead of rolling back')
    .addOption(yesOption())
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack cancel web', 'stack cancel web --no-rollback'))
    .action(async (given, { rollback, yes, ...options }) => {
      await confirm(context, { yes, what: () => describeCancel(context, given) });
      await start(context, {
        ...options,
        stack: given,
        begun: 'Cancelling',
        ...(rollback && { wanted: 'ROLLBACK' }),
        action: { kind: 'cancel', rollback },
      });
    });
}

/** The effect of the cancel, for the question. Empty for a stack that the cancel itself refuses. */
async function describeCancel(context: CliContext, stack: string): Promise<string[]> {
  const { cancelOutlook, outlookText } = await import('@anneal/client/cancel-outlook.ts');
  const outlook = await cancelOutlook(await context.client(), stack).catch(ignoreNotFound);
  return outlook ? [`Cancel the action of stack ${stack}.`, ...outlookText(outlook)] : [];
}

async function start(
  context: CliContext,
  input: {
    stack: string;
    action: StackAct;
    begun: string;
    wanted?: string | undefined;
    wait?: boolean | undefined;
    output: 'table' | 'json' | 'yaml';
  },
): Promise<void> {
  const client = await context.client();
  const after = await lastEvent(client, input.stack);
  const ref = await client.actions.act({ stack: input.stack, action: input.action });
  const began = { begun: `${input.begun} ${ref.name}`, wanted: input.wanted };
  await settle({ context, client, ref, wait: input.wait, format: input.output, after, ...began });
}

function addTakeaway(stack: Command, context: CliContext): void {
  const { output } = context;
  const put = async (take: () => Promise<JsonObject>, file: string | undefined, done: string): Promise<void> => {
    if (file === undefined) {
      output.value('json', await take());
      return;
    }
    let taken: JsonObject | undefined;
    const make = async () => `${JSON.stringify((taken = await take()), null, 2)}\n`;
    await writeMade(file, context.cwd, make).catch((error: unknown) => {
      // An abandoned stack cannot be exported again.
      if (taken) output.value('json', taken);
      throw error;
    });
    output.line(`${done}; \`stack adopt\` can read it from ${file}.`);
  };
  stack
    .command('export <stack>')
    .description('export the stack for adoption by another server; read-only')
    .option('--output-file <file>', 'write the export to this file instead of printing it')
    .addHelpText('after', exampleText('stack export web --output-file web.json'))
    .action(async (name, { outputFile }) => {
      const actions = await context.part('actions');
      await put(() => actions.export({ stack: name }), outputFile, `Exported ${name}`);
    });
  stack
    .command('abandon <stack>')
    .description('remove a stack but keep all its objects; prints the export that adopts it again')
    .option('--output-file <file>', 'write the export to this file instead of printing it')
    .addOption(yesOption())
    .addHelpText(
      'after',
      exampleText('stack abandon web --output-file web.json', 'stack adopt web --adopt-file web.json'),
    )
    .action(async (name, { outputFile, yes }) => {
      const what = [`Remove stack ${name}. Its objects stay, and no stack manages them until one adopts them.`];
      await confirm(context, { yes, what: () => what });
      const actions = await context.part('actions');
      await put(() => actions.abandon({ stack: name }), outputFile, `Abandoned ${name}`);
    });
  stack
    .command('adopt <name>')
    .description('create a stack from existing objects, with the file from `export` or `abandon`')
    .requiredOption('--adopt-file <file>', 'what `export` or `abandon` gave')
    .addOption(parameterOption())
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack adopt web --adopt-file web.json'))
    .action(async (name, options) => {
      const data = await readJsonFile(options.adoptFile, context.cwd);
      if (!isObject(data)) {
        throw new AnnealError('InvalidRequest', `${options.adoptFile} must contain what \`stack export\` wrote.`);
      }
      const parameters = await readParameterOptions({
        parameter: options.parameter,
        parameterFile: [],
        cwd: context.cwd,
      });
      const client = await context.client();
      const ref = await client.actions.adopt({ name, data, parameters });
      const began = { begun: `Adopting ${name}`, wanted: 'ADOPT' };
      await settle({ context, client, ref, wait: options.wait, format: options.output, ...began });
    });
}
