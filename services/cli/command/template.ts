/** `anneal template …`: works without a server. `validate` asks a server if it can reach one. */
import { isObject } from '@anneal/contracts/json.ts';
import { defaultDepth, limitSettings } from '@anneal/hot/limits.ts';
import { errorMark, unknownMark } from '@anneal/hot/render.ts';
import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatTemplate } from '../template/format.ts';
import { graphTemplate, planTemplate, showTemplate } from '../template/inspect.ts';
import { listFunctions, listVersions, printSchema } from '../template/language.ts';
import { listTypes } from '../template/types.ts';
import { validateTemplateFile } from '../template/validate.ts';
import { renderTemplate } from '../template/render.ts';
import { collect, exampleText, formatOption } from '../options/options.ts';

function wholeNumber(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('Must be an integer from 0 to 99.');
  return Number(text);
}

const plainFormat = () =>
  new Option('-o, --output <format>', 'output format').choices(['json', 'yaml'] as const).default('yaml' as const);

const record = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
const text = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

export function addTemplateCommands(program: Command, context: CliContext): void {
  const noun = program
    .command('template')
    .description('check, render and format templates without a server (validate uses one if it is available)');
  addTemplateValidate(noun, context);
  addTemplateRender(noun, context);
  addTemplateShow(noun, context);
  addTemplatePlan(noun, context);
  addTemplateGraph(noun, context);
  addTemplateFormat(noun, context);
  addTemplateFunctions(noun, context);
  addTemplateVersions(noun, context);
  addTemplateTypes(noun, context);
  addTemplateSchema(noun, context);
}

/** A command whose options are the inputs of a template. */
const withInputs = <const Usage extends string>(noun: Command, name: Usage, description: string) =>
  noun
    .command(name)
    .description(description)
    .option('-e, --environment <file>', 'environment file; may be repeated', collect, [])
    .option('-P, --parameter <name=json>', 'value of a parameter; may be repeated', collect, [])
    .option('--files <file>', 'JSON file with the contents of the files that the template refers to, by name')
    .option('--stack-name <name>', 'value of OS::stack_name', 'stack')
    .option(
      '--max-depth <levels>',
      `maximum number of levels of nested stacks (default: ${limitSettings.maxDepth}, or ${defaultDepth})`,
      wholeNumber,
    );
const strictly = () =>
  new Option('--strict', 'also refuse what Heat ignores: paths that do not exist, nulls that become empty strings');

function addTemplateValidate(noun: Command, context: CliContext): void {
  const { output } = context;
  withInputs(noun, 'validate <file>', 'check a template and report every mistake with its line and column')
    .addOption(strictly())
    .option('--offline', 'do not ask a server for its resource types')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'template validate web.yaml',
        'template validate web.yaml --offline',
        'template validate web.yaml -e prod.yaml -o json',
      ),
    )
    .action(async (file, options) => {
      const answer = await validateTemplateFile(file, options, context);
      if (options.output !== 'table') {
        output.value(options.output, answer);
        return;
      }
      output.line(`${output.colors.green('✔')} ${file} is valid.`);
      const parameters = Object.entries(record(answer['Parameters']));
      const rows = parameters.map(([name, value]) => ({ name, schema: record(value) }));
      if (rows.length === 0) return;
      output.list('table', {
        rows,
        none: '',
        columns: {
          parameter: (row) => row.name,
          type: (row) => text(row.schema['Type']),
          default: (row) => text(row.schema['Default']),
          description: (row) => text(row.schema['Description']),
        },
      });
    });
}

function addTemplateRender(noun: Command, context: CliContext): void {
  withInputs(noun, 'render [file]', 'evaluate a template: resources, properties, conditions and outputs')
    .addOption(strictly())
    .option(
      '--attributes <file>',
      'JSON file with attributes of resources: {resource: {attribute: value, "__id__": id}}',
    )
    .option(
      '--batch <file>',
      'file with one JSON case per line: {id, template, environment, parameters, files, attributes}',
    )
    .addOption(plainFormat())
    .addHelpText('after', exampleText('template render web.yaml', 'template render web.yaml -e prod.yaml -o json'))
    .addHelpText(
      'after',
      `\nA value that is not known yet is shown as {"${unknownMark}": true}, an output that cannot have a value as {"${errorMark}": "why"}.\n`,
    )
    .action((file, options) => renderTemplate(file, options, context));
}

function addTemplateShow(noun: Command, context: CliContext): void {
  withInputs(noun, 'show <file>', 'list the parameters, resources and outputs of a template')
    .addOption(formatOption())
    .addHelpText('after', exampleText('template show web.yaml'))
    .action((file, options) => showTemplate(file, options, context));
}

function addTemplatePlan(noun: Command, context: CliContext): void {
  withInputs(noun, 'plan <file>', 'show the order in which resources would be created, and which of them in parallel')
    .addOption(strictly())
    .addOption(formatOption())
    .addHelpText('after', exampleText('template plan web.yaml', 'template plan web.yaml -o json'))
    .action((file, options) => planTemplate(file, options, context));
}

function addTemplateGraph(noun: Command, context: CliContext): void {
  withInputs(noun, 'graph <file>', 'draw the dependency graph')
    .addOption(
      new Option('--format <format>', 'output format').choices(['mermaid', 'svg'] as const).default('mermaid' as const),
    )
    .option('--out <file>', 'write to this file instead of standard output')
    .addHelpText('after', exampleText('template graph web.yaml', 'template graph web.yaml --format svg --out web.svg'))
    .action((file, options) => graphTemplate(file, options, context));
}

function addTemplateFormat(noun: Command, context: CliContext): void {
  noun
    .command('format <file>')
    .description('format a template; comments are kept')
    .option('--write', 'write the result to the file itself')
    .option('--check', 'change nothing; fail if the file is not formatted')
    .addHelpText('after', exampleText('template format --write web.yaml'))
    .action((file, options) => formatTemplate(file, options, context));
}

function addTemplateFunctions(noun: Command, context: CliContext): void {
  noun
    .command('functions [name]')
    .description(
      'list the functions of the template language, or show the versions, arguments, oddities and an example of one',
    )
    .option('--yaql', 'list the functions of YAQL expressions instead')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('template functions', 'template functions str_replace', 'template functions --yaql'),
    )
    .action((name, options) => listFunctions(name, options, context));
}

function addTemplateVersions(noun: Command, context: CliContext): void {
  noun
    .command('versions')
    .description('list the versions of the template language, and what each adds and refuses')
    .addOption(formatOption())
    .addHelpText('after', exampleText('template versions'))
    .action((options) => listVersions(options.output, context));
}

function addTemplateTypes(noun: Command, context: CliContext): void {
  noun
    .command('types')
    .description('list the resource types that the server serves; without a server, those of Anneal itself')
    .option('--all', 'also the types that are described, but that no provider serves')
    .option('--offline', 'do not ask a server for its resource types')
    .addOption(formatOption())
    .addHelpText('after', exampleText('template types', 'template types --all --offline', 'template types -o name'))
    .action(async ({ all, offline, output: format }) => {
      const rows = (await listTypes({ context, offline })).filter(({ served }) => all === true || served);
      context.output.list(format, {
        rows,
        none: 'No types.',
        columns: {
          type: (row) => row.resource_type,
          ...(all && { served: (row: (typeof rows)[number]) => row.served }),
          description: (row) => row.description,
        },
      });
    });
}

function addTemplateSchema(noun: Command, context: CliContext): void {
  noun
    .command('schema')
    .description('print a JSON Schema of templates, so that editors complete types, properties and functions')
    .addHelpText('after', exampleText('template schema > hot.schema.json'))
    .action(() => printSchema(context));
}
