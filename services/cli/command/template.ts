/** `anneal template …` */
import { unknownMark } from '@anneal/hot/render.ts';
import { type Command, Option } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { collect, examples, formatOption, readBundle, readParameters } from './options.ts';
import { renderTemplate } from '../template/render.ts';

const offlineFormat = () =>
  new Option('-o, --output <format>', 'how to print').choices(['json', 'yaml'] as const).default('yaml' as const);

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const text = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

export function addTemplateCommands(program: Command, context: CliContext): void {
  const { output } = context;
  const noun = program.command('template').description('Templates');
  noun
    .command('render [file]')
    .description('work out all that a template comes to; needs no server')
    .option('-e, --environment <file>', 'environment; may be given more than once', collect, [])
    .option('-P, --parameter <name=json>', 'value of a parameter; may be given more than once', collect, [])
    .option('--files <file>', 'contents of the files that the template names, by name, as JSON')
    .option('--attributes <file>', 'attributes of resources, {resource: {attribute: value, "__id__": id}}, as JSON')
    .option('--stack-name <name>', 'what OS::stack_name gives', 'stack')
    .option('--batch <file>', 'one JSON case a line, {id, template, environment, parameters, files, attributes}')
    .addOption(offlineFormat())
    .addHelpText('after', examples('template render web.yaml', 'template render web.yaml -e prod.yaml -o json'))
    .addHelpText('after', `\nWhat is not known is shown as {"${unknownMark}": true}.\n`)
    .action((file, options) => renderTemplate(file, options, context));
  noun
    .command('validate <file>')
    .description('check a template; every mistake is told, with its line and column')
    .option('-e, --environment <file>', 'environment; may be given more than once', collect, [])
    .option('-P, --parameter <name=value>', 'value of a parameter; may be given more than once', collect, [])
    .option('--parameter-file <name=file>', 'parameter whose value is the text of a file', collect, [])
    .addOption(formatOption())
    .addHelpText('after', examples('template validate web.yaml', 'template validate web.yaml -e prod.yaml -o json'))
    .action(async (file, options) => {
      const bundle = await readBundle({ template: file, environments: options.environment, cwd: context.cwd });
      const parameters = await readParameters({ ...options, cwd: context.cwd });
      const answer = await (await context.client()).stacks.validate({ bundle, parameters });
      if (options.output !== 'table') {
        output.value(options.output, answer);
        return;
      }
      output.line(`${output.colors.green('✔')} ${file} is valid.`);
      const rows = Object.entries(record(answer['Parameters'])).map(([name, value]) => ({
        name,
        schema: record(value),
      }));
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
