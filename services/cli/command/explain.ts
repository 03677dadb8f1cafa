/** `anneal explain TYPE[.property]`: what a template can say about a resource type. */
import type { TypeDescription, TypeProperty } from '@anneal/client/types.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { describeType } from '../template/types.ts';
import { exampleText, formatOption } from '../options/options.ts';

export function addExplainCommand(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('explain <type>')
    .description('explain a resource type, or a property of it: TYPE.property, also nested: TYPE.property.key')
    .option('--offline', 'do not ask a server for its resource types')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('explain OS::Nova::Server', 'explain OS::Nova::Server.networks', 'explain OS::Heat::Value -o json'),
    )
    .action(async (path, { offline, output: format }) => {
      const [name = '', ...steps] = path.split('.');
      const type = await describeType(name, { context, offline });
      const { colors } = output;
      if (steps.length === 0) {
        if (format !== 'table') output.value(format, type);
        else explainType(type, context);
        return;
      }
      const property = propertyAt(type, steps);
      output.one(format, property, () => [
        ['property', colors.bold(path)],
        ['type', property.type],
        ['required', property.required],
        [
          'default',
          property.default === undefined || property.default === null ? null : JSON.stringify(property.default),
        ],
        ['on change', changeOf(property)],
        ['description', property.description],
        ...(property.constraints ?? []).map((one) => ['constraint', constraintText(one)] as const),
        ...Object.entries(property.schema ?? {}).map(
          ([key, below]) => [key === '*' ? 'each item' : key, summaryOf(below)] as const,
        ),
      ]);
    });
}

function explainType(type: TypeDescription, { output }: CliContext): void {
  const { colors } = output;
  output.line(`${colors.bold(type.resource_type)}${type.served ? '' : colors.yellow('  (no provider serves it)')}`);
  if (type.description) output.prose(type.description);
  const rows = Object.entries(type.properties).map(([name, property]) => ({ name, property }));
  output.line();
  output.list('table', {
    rows: rows.toSorted((a, b) => Number(b.property.required) - Number(a.property.required)),
    none: 'No properties.',
    columns: {
      property: (row) => row.name,
      type: (row) => row.property.type,
      required: (row) => row.property.required,
      description: (row) => row.property.description,
      'on change': (row) => changeOf(row.property),
    },
  });
  output.line();
  output.list('table', {
    rows: Object.entries(type.attributes).map(([name, { description }]) => ({ name, description })),
    none: 'No attributes.',
    columns: { attribute: (row) => row.name, description: (row) => row.description },
  });
}

const changeOf = (property: TypeProperty): string =>
  property.immutable ? 'is refused' : property.update_allowed ? 'updates the resource' : 'replaces the resource';

const summaryOf = (property: TypeProperty): string =>
  [property.type, property.required ? 'required' : '', property.description ?? '']
    .filter((text) => text !== '')
    .join(', ');

const constraintText = (constraint: Readonly<Record<string, unknown>>): string =>
  Object.entries(constraint)
    .map(([kind, value]) => `${kind}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');

/** @throws AnnealError NotFound with the names that exist */
function propertyAt(type: TypeDescription, steps: readonly string[]): TypeProperty {
  let below: Readonly<Record<string, TypeProperty>> = type.properties;
  let found: TypeProperty | undefined;
  for (const [index, step] of steps.entries()) {
    // The schema of a list's items stands under `*`, which a path leaves out.
    const inside = below['*']?.schema ?? below;
    found = Object.hasOwn(inside, step) ? inside[step] : undefined;
    if (!found) {
      const place = [type.resource_type, ...steps.slice(0, index)].join('.');
      const names = Object.keys(inside).filter((name) => name !== '*');
      throw new AnnealError('NotFound', `${place} has no property ${step}.`, {
        details: { remedy: names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.` },
      });
    }
    below = found.schema ?? {};
  }
  if (!found) throw new AnnealError('InvalidRequest', 'Name a property: TYPE.property.');
  return found;
}
