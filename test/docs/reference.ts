/** The reference pages, generated from the code. Pure: from definitions to Markdown. */
import { errorTable } from '@anneal/contracts/errors.ts';
import { phases, refusals, transitions } from '@anneal/convergence/traversal/transitions.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { FunctionRow } from '@anneal/hot/functions/reference.ts';
import type { YaqlRow } from '@anneal/hot/yaql/library/library.ts';
import type { VersionRow } from '@anneal/cli/template/language.ts';
import { stringify } from 'yaml';
import { eventDataSections } from './event-data.ts';
import type { SettingDefinitions } from '@anneal/runtime/service/settings.ts';
import type { z } from 'zod';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
const page = (title: string, ...parts: string[]): string =>
  `# ${title}\n\nGenerated from the code by \`npm run docs\`.\n\n${parts.join('\n\n')}\n`;

export const errorsPage = (): string =>
  page(
    'Errors',
    'Every error has a code, which is never reused, and a kind, which decides what happens to a message: see [delivery](../concepts/delivery.md).',
    table(
      ['code', 'HTTP', 'kind', 'what to do'],
      Object.entries(errorTable).map(([code, { status, kind, remedy }]) => [
        `\`${code}\``,
        String(status),
        kind,
        remedy,
      ]),
    ),
  );

export function eventsPage(): string {
  const events = Object.values(definitionsByFile)
    .flat()
    .filter(({ kind }) => kind === 'event')
    .toSorted((one, other) => (one.type < other.type ? -1 : 1));
  return page(
    'Events',
    'Types of events, in alphabetical order. Their data follows below, and is in [asyncapi.yaml](../../asyncapi.yaml).',
    table(
      ['type', 'when'],
      events.map(({ type, description }) => [`\`${type}\``, description]),
    ),
    ...eventDataSections(events),
  );
}

/** The default of a setting, in the form of the environment. */
function defaultOf(schema: z.ZodType): string {
  const parsed = schema.safeParse(undefined);
  return parsed.success && parsed.data !== undefined ? `\`${asWritten(parsed.data)}\`` : '';
}

/** Lists and maps are written with commas between their entries. */
function asWritten(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(',');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value).replaceAll('"', '');
  return Object.entries(value)
    .map(([name, entry]) => `${name}=${String(entry)}`)
    .join(',');
}

export const settingsPage = (groups: readonly { name: string; settings: SettingDefinitions }[]): string =>
  page(
    'Settings',
    'Anneal reads its settings from the environment. It refuses an unknown name and suggests the nearest setting. An empty value counts as not set.',
    ...groups
      .filter(({ settings }) => Object.keys(settings).length > 0)
      .map(
        ({ name, settings }) =>
          `## ${name}\n\n${table(
            ['name', 'default', 'meaning', 'cost'],
            Object.values(settings).map(({ env, schema, meaning, cost }) => [
              `\`${env}\``,
              defaultOf(schema),
              meaning,
              cost ?? '',
            ]),
          )}`,
      ),
  );

export interface DocumentedCommand {
  readonly usage: string;
  readonly description: string;
  readonly options: readonly { flags: string; description: string }[];
}

export const commandsPage = (commands: readonly DocumentedCommand[]): string =>
  page(
    'Commands',
    'Each command has `--help` with examples.',
    ...commands.map(
      ({ usage, description, options }) =>
        `## ${usage}\n\n${description}${
          options.length > 0
            ? `\n\n${table(
                ['option', 'meaning'],
                options.map(({ flags, description: meaning }) => [`\`${flags}\``, meaning]),
              )}`
            : ''
        }`,
    ),
  );

export const metricsPage = (metrics: readonly { name: string; help: string }[]): string =>
  page(
    'Metrics',
    'Each process serves these metrics, and those of Node, at `/metrics` in Prometheus’ format.',
    table(
      ['name', 'meaning'],
      metrics.map(({ name, help }) => [`\`${name}\``, help]),
    ),
  );

export const resourceTypesPage = (types: readonly ResourceType[]): string =>
  page(
    'Resource types',
    'A change of a property without “updates in place” replaces the resource.',
    ...types
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      .map(({ type, description, properties, attributes }) =>
        [
          `## ${type}`,
          description ?? '',
          Object.keys(properties).length > 0
            ? table(
                ['property', 'type', 'required', 'updates in place', 'meaning'],
                Object.entries(properties).map(([name, property]) => [
                  `\`${name}\``,
                  property.type,
                  property.required
                    ? 'yes'
                    : property.default === undefined
                      ? ''
                      : `default \`${JSON.stringify(property.default)}\``,
                  property.update_allowed ? 'yes' : '',
                  property.description ?? '',
                ]),
              )
            : '',
          Object.keys(attributes).length > 0
            ? `Attributes: ${Object.keys(attributes)
                .map((name) => `\`${name}\``)
                .join(', ')}.`
            : '',
        ]
          .filter((part) => part !== '')
          .join('\n\n'),
      ),
  );

const code = (text: string): string => `\`${text}\``;
const codes = (names: readonly string[]): string => names.map(code).join(', ');
const example = ({ example: { call, gives } }: FunctionRow): string =>
  `${code(
    stringify(call, { collectionStyle: 'flow', lineWidth: 0 })
      .trim()
      .replace(/^\{ (.*) \}$/, '$1'),
  )}${gives === undefined ? '' : ` gives ${code(JSON.stringify(gives))}`}`;

/** Versions, functions and the functions of expressions, each in one table. */
export const functionsPage = (tables: {
  versions: readonly VersionRow[];
  functions: readonly FunctionRow[];
  yaql: readonly YaqlRow[];
}): string =>
  page(
    'Functions',
    'A map with one key is a call when the key is the name of a function in the template’s version. In a version that does not have the function yet, it is an ordinary map; in a version that refuses the function, it is an error. The same information from the command line: `anneal template functions`, `anneal template functions str_replace`, `anneal template functions --yaql`, `anneal template versions`.',
    `## Functions\n\n${table(
      ['function', 'versions', 'in', 'arguments', 'notes', 'example'],
      tables.functions.map((row) => [
        code(row.name),
        row.until === undefined ? `${row.since} on` : `${row.since} until ${row.until}`,
        row.stands === 'both' ? `values; conditions from ${row.conditionsSince ?? row.since}` : row.stands,
        row.takes,
        row.oddities.join('; '),
        example(row),
      ]),
    )}`,
    `## Versions\n\n${table(
      ['version', 'alias', 'adds', 'refuses', 'changes'],
      tables.versions.map((row) => [
        row.version,
        row.alias ?? '',
        codes(row.brings),
        codes(row.refuses),
        row.changes ?? '',
      ]),
    )}`,
    `## Functions of expressions\n\nIn the expressions of \`yaql\`, besides the operators \`+ - * / mod\`, \`= != < <= > >=\`, \`and or not in\`, \`=~ !~\`, \`->\`, \`.\` and \`?.\`. The value before the dot is the first argument. A \`?\` marks an optional argument. Each argument may be given by name (\`split(separator => ',')\`). An \`expression\` is evaluated for each element, which is \`$\` in it.\n\n${table(
      ['function', 'for', 'calls'],
      tables.yaql.map((row) => [code(row.name), row.family, row.forms.map(code).join('<br>')]),
    )}`,
  );

/** The effect of each input on a stack in each phase, with the exceptions below the table. */
export function transitionsPage(): string {
  const rows = Object.entries(transitions);
  const exceptions = rows.flatMap(([input, row]) =>
    'except' in row ? [{ input, list: row.except.map(([condition, effect]) => `${effect} when ${condition}`) }] : [],
  );
  const refused = new Set<string>(Object.keys(refusals));
  return page(
    'Stack transitions',
    'What an input does to a stack, by the phase of the stack. `begins`: a traversal, which overtakes a running one. `ends`: the running traversal. `notes`: a fact about a resource. `nothing`: the input is accepted and has no effect. A refusal names its reason in italics. Responses, signals, hooks and the timers of resources depend on one resource, and not on the stack.',
    table(
      ['input', ...phases],
      rows.map(([input, { in: effects }]) => [
        input,
        ...phases.map((phase) => (refused.has(effects[phase]) ? `_${effects[phase]}_` : effects[phase])),
      ]),
    ),
    '## Exceptions\n\nWhere the input would begin, end or note something, the first exception that holds decides instead.',
    table(
      ['input', 'exceptions, in this order'],
      exceptions.map(({ input, list }) => [input, list.join('; ')]),
    ),
    '## Refusals',
    table(['refusal', 'because'], Object.entries(refusals)),
  );
}
