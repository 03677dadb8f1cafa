/** The template language: its versions, its functions, and the functions of `yaql` expressions. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type FunctionRow, functionRows } from '@anneal/hot/functions/reference.ts';
import { nearestName } from '@anneal/hot/mistakes.ts';
import { templateSchema } from '@anneal/hot/tooling/template-schema.ts';
import { knownTypes } from '@anneal/hot/known.ts';
import { aliases, otherChanges, type Version, versions } from '@anneal/hot/syntax/version.ts';
import { yaqlRows } from '@anneal/hot/yaql/library/library.ts';
import { stringify } from 'yaml';
import type { CliContext } from '../context.ts';
import type { Format } from '../output.ts';

export function listFunctions(
  name: string | undefined,
  { output: format, yaql }: { output: Format; yaql?: boolean | undefined },
  context: CliContext,
): void {
  if (yaql === true) listYaql(name, format, context);
  else if (name === undefined) listAll(format, context);
  else showFunction(one(name, functionRows), format, context);
}

function one<Row extends { readonly name: string }>(name: string, rows: readonly Row[]): Row {
  const found = rows.find((row) => row.name === name);
  if (found) return found;
  const nearest = nearestName(
    name,
    rows.map((row) => row.name),
  );
  throw new AnnealError(
    'InvalidRequest',
    `There is no function ${name}${nearest === undefined ? '.' : `; did you mean ${nearest}?`}`,
    { details: { remedy: '`anneal template functions` lists them.' } },
  );
}

function listAll(format: Format, { output }: CliContext): void {
  output.list(format, {
    rows: functionRows,
    none: '',
    columns: {
      function: (row) => row.name,
      since: (row) => row.since,
      'refused since': (row) => row.until,
      in: (row) => (row.stands === 'both' ? 'values, conditions' : row.stands),
      takes: (row) => row.takes.replaceAll('`', ''),
    },
  });
}

function showFunction(row: FunctionRow, format: Format, { output }: CliContext): void {
  output.one(format, row, () => [
    ['function', row.name],
    ['since', row.since],
    ['refused since', row.until],
    ['in', row.stands === 'both' ? `values; conditions since ${row.conditionsSince ?? row.since}` : row.stands],
    ['takes', row.takes.replaceAll('`', '')],
    ['oddities', row.oddities.map((text) => text.replaceAll('`', '')).join('\n')],
    ['example', stringify(row.example.call).trimEnd()],
    ['gives', row.example.gives === undefined ? undefined : JSON.stringify(row.example.gives)],
  ]);
}

function listYaql(name: string | undefined, format: Format, { output }: CliContext): void {
  const rows = name === undefined ? yaqlRows() : [one(name, yaqlRows())];
  output.list(format, {
    rows,
    none: '',
    columns: { function: (row) => row.name, for: (row) => row.family, 'is called': (row) => row.forms.join('\n') },
  });
}

export interface VersionRow {
  readonly version: Version;
  readonly alias: string | null;
  readonly brings: readonly string[];
  readonly refuses: readonly string[];
  readonly changes: string | null;
}

export const versionRows = (): VersionRow[] =>
  versions.map((version) => ({
    version,
    alias: Object.entries(aliases).find(([, dated]) => dated === version)?.[0] ?? null,
    brings: functionRows.filter(({ since }) => since === version).map((row) => row.name),
    refuses: functionRows.filter(({ until }) => until === version).map((row) => row.name),
    changes: otherChanges[version] ?? null,
  }));

export function listVersions(format: Format, { output }: CliContext): void {
  output.list(format, {
    rows: versionRows(),
    none: '',
    columns: {
      version: (row) => row.version,
      alias: (row) => row.alias,
      brings: (row) => row.brings.join(', '),
      refuses: (row) => row.refuses.join(', '),
      changes: (row) => row.changes?.replaceAll('`', ''),
    },
  });
}

/** Prints the JSON schema of templates, for editors. */
export const printSchema = ({ output }: CliContext): void => output.value('json', templateSchema(knownTypes));
