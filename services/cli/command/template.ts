/** `anneal template …`: works without a server. `validate` asks a server if it can reach one. */
import { isObject } from '@anneal/contracts/json.ts';
import { defaultDepth } from '@anneal/hot/limits.ts';
import { unknownMark } from '@anneal/hot/render.ts';
import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { formatTemplate } from '../template/format.ts';
import { graphTemplate, planTemplate, showTemplate } from '../template/inspect.ts';
import { listFunctions, listVersions, printSchema } from '../template/language.ts';
import { validateTemplate } from '../template/validate.ts';
import { renderTemplate } from '../template/render.ts';
import { collect, examples, formatOption } from './options.ts';

function wholeNumber(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('It must be a number from 0 to 99.');
  return Number(text);
}

const plainFormat = () =>
  new Option('-o, --output <format>', 'how to print').choices(['json', 'yaml'] as const).default('yaml' as const);

const record = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
const text = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

export function addTemplateCommands(program: Command, context: CliContext): void {
  const noun = program
    .command('template')
    .description('Templates; nothing here needs a server, and validate asks one if it can');
  const { output } = context;
  const withInputs = <const Usage extends string>(name: Usage, description: string) =>
    noun
      .command(name)
      .description(description)
      .option('-e, --environment <file>', 'environment; may be given more than once', collect, [])
      .option('-P, --parameter <name=json>', 'value of a parameter; may be given more than once', collect, [])
      .option('--files <file>', 'contents of the files that the template names, by name, as JSON')
      .option('--stack-name <name>', 'what OS::stack_name gives', 'stack')
      .option('--max-depth <levels>', 'how many levels of nested stacks there may be', wholeNumber, defaultDepth);
  const strictly = () =>
    new Option('--strict', 'also refuse what is passed over: paths that lead nowhere, nulls that become empty texts');
  withInputs('validate <file>', 'check a template; every mistake is told, with its line and column')
    .addOption(strictly())
    .option('--offline', 'ask no server which types are served')
    .addOption(formatOption())
    .addHelpText(
      'after',
      examples(
        'template validate web.yaml',
        'template validate web.yaml --offline',
        'template validate web.yaml -e prod.yaml -o json',
      ),
    )
    .action(async (file, options) => {
      const answer = await validateTemplate(file, options, context);
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
  withInputs('render [file]', 'work out all that a template comes to')
    .addOption(strictly())
    .option('--attributes <file>', 'attributes of resources, {resource: {attribute: value, "__id__": id}}, as JSON')
    .option('--batch <file>', 'one JSON case a line, {id, template, environment, parameters, files, attributes}')
    .addOption(plainFormat())
    .addHelpText('after', examples('template render web.yaml', 'template render web.yaml -e prod.yaml -o json'))
    .addHelpText('after', `\nWhat is not known is shown as {"${unknownMark}": true}.\n`)
    .action((file, options) => renderTemplate(file, options, context));
  withInputs('show <file>', 'list the parts of a template')
    .addOption(formatOption())
    .addHelpText('after', examples('template show web.yaml'))
    .action((file, options) => showTemplate(file, options, context));
  withInputs('plan <file>', 'show what would be created, in which order, and what runs in parallel')
    .addOption(strictly())
    .addOption(formatOption())
    .addHelpText('after', examples('template plan web.yaml', 'template plan web.yaml -o json'))
    .action((file, options) => planTemplate(file, options, context));
  withInputs('graph <file>', 'draw what depends on what')
    .addOption(
      new Option('--format <format>', 'what to draw it in')
        .choices(['mermaid', 'svg'] as const)
        .default('mermaid' as const),
    )
    .option('--out <file>', 'write it there')
    .addHelpText('after', examples('template graph web.yaml', 'template graph web.yaml --format svg --out web.svg'))
    .action((file, options) => graphTemplate(file, options, context));
  noun
    .command('format <file>')
    .description('lay out a template; comments stay')
    .option('--write', 'in the file itself')
    .option('--check', 'change nothing; fail when it is not formatted')
    .addHelpText('after', examples('template format --write web.yaml'))
    .action((file, options) => formatTemplate(file, options, context));
  noun
    .command('functions [name]')
    .description('list the functions of the language, or show one: its versions, arguments, oddities and an example')
    .option('--yaql', 'those of the expressions in the function yaql')
    .addOption(formatOption())
    .addHelpText('after', examples('template functions', 'template functions str_replace', 'template functions --yaql'))
    .action((name, options) => listFunctions(name, options, context));
  noun
    .command('versions')
    .description('list the versions of the language, with what each brings and refuses')
    .addOption(formatOption())
    .addHelpText('after', examples('template versions'))
    .action((options) => listVersions(options.output, context));
  noun
    .command('schema')
    .description('print a JSON Schema of templates, with which editors complete types, properties and functions')
    .addHelpText('after', examples('template schema > hot.schema.json'))
    .action(() => printSchema(context));
}
