/** The reference pages, generated from the code. Pure: from definitions to Markdown. */
import { runEffects, runStates, runTransitions } from '@anneal/configuration/deployments/decisions/run-states.ts';
import { errorTable } from '@anneal/contracts/errors.ts';
import { phases, refusals, transitions } from '@anneal/convergence/traversal/transitions.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { ActionDefinition, ActionInputKind } from '@anneal/hot/workflow/action-catalogue.ts';
import type { FunctionRow } from '@anneal/hot/functions/reference.ts';
import type { YaqlRow } from '@anneal/hot/yaql/library/library.ts';
import type { VersionRow } from '@anneal/cli/template/language.ts';
import { stringify } from 'yaml';
import { eventDataSections } from './event-data.ts';
import { generatedPage, table } from '@anneal/docs/markdown-table.ts';
import type { SettingDefinitions } from '@anneal/runtime/service/settings.ts';
import type { z } from 'zod';
import { stepNames } from '@anneal/provisioning/nodes/plan/catalogue.ts';
import { nodeTransitions, outcomeVerbs, stateFacts, steps } from '@anneal/provisioning/documents/states.ts';

const page = (title: string, ...parts: string[]): string =>
  generatedPage(title, 'Generated from the code by `npm run docs`.', ...parts);

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

const actionForms: Readonly<Record<ActionInputKind, string>> = {
  text: 'text',
  texts: 'text or list of texts',
  integer: 'integer above 0',
  flag: 'true or false',
  map: 'map',
  any: 'any value',
};

export const workflowActionsPage = (actions: readonly ActionDefinition[]): string =>
  page(
    'Actions of workflows',
    'A task names one of these actions. Its inputs are checked when the workflow is stored, and values of expressions when the task runs. See [workflows](../concepts/workflows.md).',
    ...actions.map(({ name, description, inputs, result }) =>
      [
        `## ${name}`,
        description,
        ...(inputs.length === 0
          ? []
          : [
              table(
                ['input', 'value', 'meaning'],
                inputs.map((input) => [
                  `\`${input.name}\`${input.required ? ', required' : ''}`,
                  input.choices ? input.choices.map((choice) => `\`${choice}\``).join(', ') : actionForms[input.kind],
                  input.description,
                ]),
              ),
            ]),
        `Result: ${result}.`,
      ].join('\n\n'),
    ),
  );

/** A property and the keys below it, by path; `[]` marks the items of a list. */
const propertyRows = (properties: ResourceType['properties'], before = '', inPlace?: boolean): string[][] =>
  Object.entries(properties).flatMap(([name, property]) => {
    const path = name === '*' ? `${before}[]` : before === '' ? name : `${before}.${name}`;
    const updates = inPlace ?? property.update_allowed ?? false;
    const below = propertyRows(property.schema ?? {}, path, updates);
    // The list itself says what its items are.
    if (name === '*' && below.length > 0) return below;
    if (name === '*') return [];
    return [
      [
        `\`${path}\``,
        property.type,
        property.required
          ? 'yes'
          : property.default === undefined
            ? ''
            : `default \`${JSON.stringify(property.default)}\``,
        updates ? 'yes' : '',
        property.description ?? '',
      ],
      ...below,
    ];
  });

export const resourceTypesPage = (types: readonly ResourceType[]): string =>
  page(
    'Resource types',
    'A change of a property without “updates in place” replaces the resource. A name with a dot is a key of a map, and `[]` marks the items of a list. The same information from the command line: `anneal explain TYPE`, `anneal explain TYPE.property`.',
    ...types
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      .map(({ type, description, properties, attributes }) =>
        [
          `## ${type}`,
          description ?? '',
          Object.keys(properties).length > 0
            ? table(['property', 'type', 'required', 'updates in place', 'meaning'], propertyRows(properties))
            : '',
          Object.keys(attributes).length > 0
            ? table(
                ['attribute', 'meaning'],
                Object.entries(attributes).map(([name, attribute]) => [`\`${name}\``, attribute.description ?? '']),
              )
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
/** E.g. `deploy failed` as `deploy_failed`: names in a diagram have no spaces. */
const diagramName = (state: string): string => state.replaceAll(/[ -]/g, '_');

export function nodeStatesPage(): string {
  const internal: readonly string[] = outcomeVerbs;
  const states = Object.entries(nodeTransitions);
  const arrows = states.flatMap(([from, row]) =>
    Object.entries(row).map(([verb, to]) => `    ${diagramName(from)} --> ${diagramName(to)}: ${verb}`),
  );
  return page(
    'Node states',
    'The states of a node and the verbs that change them, after Ironic. `abort` leaves every state with steps and every hold. A working state ends with `done` (`keep`: without becoming available), `fail` or `hold`. A server of a stack sends `deploy`. `accept` is `manage` after the fault `identity mismatch`.',
    table(
      ['state', 'entered', 'left', 'steps'],
      Object.entries(stateFacts).map(([state, [entered, left]]) => [
        `\`${state}\``,
        entered,
        left,
        Object.hasOwn(steps, state) ? steps[state as keyof typeof steps].join(', ') : '',
      ]),
    ),
    '## Transitions',
    table(
      ['state', 'verbs of operators', 'ends of work'],
      states.map(([state, row]) => {
        const shown = (own: boolean): string =>
          Object.entries(row)
            .filter(([verb]) => internal.includes(verb) === own)
            .map(([verb, to]) => `${verb} → ${to}`)
            .join(', ');
        return [`\`${state}\``, shown(false), shown(true)];
      }),
    ),
    '## Diagram',
    ['```mermaid', 'stateDiagram-v2', ...arrows, '```'].join('\n'),
    '## Steps that an operator may ask for',
    `\`clean\`, \`rebuild\` and \`service\` take steps, each with an interface, a name and arguments: ${stepNames.map((name) => `\`${name}\``).join(', ')}.`,
  );
}

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

export function runTransitionsPage(): string {
  const rows = Object.entries(runTransitions);
  const exceptions = rows.flatMap(([input, { except = [] }]) =>
    except.length === 0 ? [] : [[input, except.map(({ when, effect }) => `${effect} when ${when}`).join('; ')]],
  );
  return page(
    'Run transitions',
    'What an input does to a run, which is one config on one host, by the state of the run: see [deployments](../concepts/deployments.md). A run that waits, is queued, accepted or running has the status `IN_PROGRESS`; an ended one is `COMPLETE`, `FAILED` or `SKIPPED`.',
    table(
      ['input', ...runStates],
      rows.map(([input, { in: effects }]) => [input, ...runStates.map((state) => effects[state])]),
    ),
    '## Exceptions\n\nWhere the input has an effect, the first exception that holds decides instead.',
    table(['input', 'exceptions, in this order'], exceptions),
    '## Effects',
    table(['effect', 'meaning'], Object.entries(runEffects)),
  );
}
