/** `anneal stack import`: takes over a stack of a running Heat. */
import type { ImportRequest, StackImport } from '@anneal/client/actions.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { exitCodes, Reported } from '../exit.ts';
import type { TerminalOutput } from '../output.ts';
import { confirm, yesOption } from './confirm.ts';
import { readJsonFile } from '../options/files.ts';
import {
  collect,
  exampleText,
  formatOption,
  noWaitOption,
  parameterFileOption,
  parameterOption,
  readPairs,
  readParameterOptions,
  waitOption,
} from '../options/options.ts';
import { settle } from './settle.ts';

/** Adds the command. */
export function addStackImport(stack: Command, context: CliContext): void {
  stack
    .command('import <file>')
    .description('take over a stack of a running Heat, with the file from `openstack stack abandon` or `export`')
    .option('--name <name>', 'name of the stack (default: its name in Heat)')
    .addOption(
      new Option('--host <server=host>', 'joined host of a server, by its path, name or id in Heat; may be repeated')
        .argParser(collect)
        .default<string[]>([]),
    )
    .option('--deployments <file>', "Heat's list of software deployments as JSON, for the outputs of deployments")
    .option('--include-failed', 'take over resources whose last action failed, too')
    .option('--dry-run', 'only show what would be taken over and every mistake')
    .addOption(parameterOption())
    .addOption(parameterFileOption())
    .addOption(yesOption())
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack import web.json --host server=web1 --dry-run', 'stack import web.json --host server=web1'),
    )
    .action(async (file, options) => {
      const { output, cwd } = context;
      const asked: ImportRequest = {
        data: await readObject(file, cwd),
        name: options.name,
        hosts: readPairs(options.host, '--host'),
        deployments: options.deployments === undefined ? undefined : await readDeployments(options.deployments, cwd),
        parameters: await readParameterOptions({ ...options, cwd }),
        includeFailed: options.includeFailed,
        dryRun: true,
      };
      const client = await context.client();
      const plan = await client.actions.import(asked);
      if (options.dryRun && options.output !== 'table') output.value(options.output, plan);
      else if (options.output === 'table' || plan.mistakes.length > 0) show(output, plan);
      if (plan.mistakes.length > 0) throw new Reported(exitCodes.refused);
      if (options.dryRun) return;
      const what = [`Take over ${plan.resources.length} resources as stack ${plan.name}. Nothing is created or run.`];
      await confirm(context, { yes: options.yes, what: () => what });
      const { stack: ref } = await client.actions.import({ ...asked, dryRun: false });
      if (!ref) throw new AnnealError('Unavailable', `The server answered no stack for the import of ${plan.name}.`);
      const began = { begun: `Importing ${ref.name}`, wanted: 'ADOPT' };
      await settle({ context, client, ref, wait: options.wait, format: options.output, ...began });
    });
}

function show(output: TerminalOutput, { name, resources, warnings, mistakes }: StackImport): void {
  output.list('table', {
    rows: resources,
    columns: {
      resource: ({ resource }) => resource,
      type: ({ type }) => type,
      heat: ({ status }) => status,
      'taken over': ({ manner }) => manner,
      id: ({ physical_id: id }) => id,
      note: ({ note }) => note,
    },
    none: 'No resource can be taken over.',
  });
  for (const warning of warnings) output.note(`Warning: ${warning}`);
  if (mistakes.length === 0) return;
  output.note(`Stack ${name} cannot be imported, and nothing was changed:`);
  for (const { path, message } of mistakes) output.note(`  ${path} ${message}`);
}

async function readObject(file: string, cwd: string): Promise<JsonObject> {
  const value = await readJsonFile(file, cwd);
  if (isObject(value)) return value;
  throw new AnnealError('InvalidRequest', `${file} must contain a JSON object: what Heat wrote for a stack.`);
}

/** The list as Heat's API answers it, or only its items. */
async function readDeployments(file: string, cwd: string): Promise<JsonObject[]> {
  const value = await readJsonFile(file, cwd);
  const list = isObject(value) ? value['software_deployments'] : value;
  if (Array.isArray(list)) return list.filter(isObject);
  throw new AnnealError('InvalidRequest', `${file} must contain Heat's list of software_deployments.`);
}
