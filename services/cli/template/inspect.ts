/** The offline commands that describe a template: its parts, its graph, the order of its work. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { drawMermaid, drawSvg } from '@anneal/hot/tooling/draw.ts';
import { examine, type Examined } from '@anneal/hot/tooling/inspect.ts';
import type { CliContext } from '../context.ts';
import type { Format } from '../output.ts';
import { printWarnings } from '../print/warning.ts';
import { loadTemplate, type OfflineOptions } from './load.ts';
import { refuse } from './render.ts';

export interface InspectOptions extends OfflineOptions {
  readonly output: Format;
}

async function load(file: string, options: InspectOptions, context: CliContext): Promise<Examined> {
  const examined = examine(await loadTemplate(file, options, context));
  if ('mistakes' in examined) return refuse(examined.mistakes, options.output, context);
  printWarnings(context.output, examined.warnings, file);
  return examined;
}

export async function showTemplate(file: string, options: InspectOptions, context: CliContext): Promise<void> {
  const { body } = await load(file, options, context);
  const { plan, conditions, nested, writtenTypes } = body;
  const shown = {
    version: plan.template_version,
    description: plan.description,
    parameters: [...body.schemas.values()].map(({ name, type, hidden }) => ({ name, type, hidden })),
    conditions,
    resources: Object.values(plan.resources).map(({ name, requires }) => ({
      name,
      type: writtenTypes.get(name) ?? '',
      requires,
      ...(nested.has(name) && { file: nested.get(name)?.file }),
    })),
    outputs: Object.keys(plan.outputs),
  };
  context.output.one(options.output, shown, () => [
    ['version', shown.version],
    ['description', shown.description],
    ['parameters', shown.parameters.map(({ name, type }) => `${name} (${type})`).join('\n')],
    ['resources', shown.resources.map(({ name, type }) => `${name} (${type})`).join('\n')],
    ['outputs', shown.outputs.join('\n')],
  ]);
}

export async function planTemplate(file: string, options: InspectOptions, context: CliContext): Promise<void> {
  const { outline } = await load(file, options, context);
  const { output } = context;
  if (options.output !== 'table') {
    output.value(options.output, outline);
    return;
  }
  output.list('table', {
    rows: outline.levels.flatMap((row, level) => row.map((item) => ({ ...item, step: level + 1 }))),
    none: 'Nothing would be created.',
    columns: { step: (row) => row.step, resource: (row) => row.name, type: (row) => row.type },
  });
  output.line(
    `\n${outline.resources} resources in ${outline.levels.length} steps; resources of the same step run in parallel.`,
  );
  if (outline.critical_path.length > 1) output.line(`Critical path: ${outline.critical_path.join(' → ')}`);
}

export async function graphTemplate(
  file: string,
  options: OfflineOptions & { format: 'mermaid' | 'svg'; out?: string | undefined },
  context: CliContext,
): Promise<void> {
  const { outline } = await load(file, { ...options, output: 'table' }, context);
  const drawn = options.format === 'svg' ? drawSvg(outline) : drawMermaid(outline);
  if (options.out === undefined) context.output.line(drawn.trimEnd());
  else await writeFile(resolve(context.cwd, options.out), drawn);
}
