/** Output of every bench: the machine, then a row per case; or one JSON array. */
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem } from 'node:os';

export interface Row {
  bench: string;
  case: string;
  backend: string;
  n: number;
  metric: string;
  unit: string;
  value: number;
  p50?: number;
  p95?: number;
  p99?: number;
  samples?: number;
  /** Processor time of the measuring process per item, in microseconds. */
  cpu?: number;
  /** Ratio of the adapter to the raw driver, in pairs of runs: 1 is equal speed. */
  ratio?: number;
}

export interface Bench {
  readonly name: string;
  /**
   * `server`: a server process, which may be that of another revision. `sources`: the libraries and services of the
   * revision that the bench belongs to, in the process of the bench or in one that imports them.
   */
  readonly measures: 'server' | 'sources';
  /** Text above the table: the measured values, the settings and the precautions. */
  readonly notes: readonly string[];
  /** The backends that it can measure, for `--backend`. */
  readonly backends: readonly string[];
  run(options: BenchOptions): Promise<Row[]>;
}

export interface BenchOptions {
  readonly quick: boolean;
  /** Prints facts of this run, such as a missing backend or its version. */
  readonly say: (text: string) => void;
  /** Measures only this one. Absent: all. */
  readonly backend: string | undefined;
  /** The number of hosts, for the bench of hosts. Absent: several sizes. */
  readonly hosts: number | undefined;
  /** How often each case is measured, for benches that count rounds. Absent: as often as the bench chooses. */
  readonly rounds: number | undefined;
  /** The folder with the sources of the server that a bench of a server measures. */
  readonly server: string;
}

/** The words of the command line for the options that every bench has. */
export const optionWords = ({ quick, backend, hosts }: BenchOptions): string[] => [
  ...(quick ? ['--quick'] : []),
  ...(backend === undefined ? [] : ['--backend', backend]),
  ...(hosts === undefined ? [] : ['--hosts', String(hosts)]),
];

/** True when the name of a backend, such as `rabbitmq + mongodb`, begins with the one that `--backend` names. */
export const isChosen = (name: string, { backend }: Pick<BenchOptions, 'backend'>): boolean =>
  backend === undefined || name.startsWith(backend);

/** Nearest-rank percentiles of a sample; sorts a copy. */
export function percentiles(samples: readonly number[]): { p50: number; p95: number; p99: number; samples: number } {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), samples: sorted.length };
}

export function machine(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const [cpu] = cpus();
  return [
    `anneal ${version}, node ${process.version}, sqlite ${process.versions['sqlite'] ?? '?'}`,
    `${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${arch()}, kernel ${release()}, load ${loadavg()[0]?.toFixed(1)} before it began`,
  ].join('\n');
}

export const figureText = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value)
    ? ''
    : Math.abs(value) >= 100
      ? Math.round(value).toLocaleString('en')
      : value.toPrecision(3);

/** One row as a line, for rows that are printed as they come. */
export function rowLine({ backend, n, metric, value, unit, p99, cpu, ...row }: Row): string {
  const more = [
    ...(p99 === undefined ? [] : [`p99 ${figureText(p99)}`]),
    ...(cpu === undefined ? [] : [`cpu ${figureText(cpu)} µs`]),
  ];
  return `${[backend, n, row.case, metric].join(', ')}: ${[figureText(value), unit, ...more].join(' ')}`;
}

export function reportTable(rows: readonly Row[]): string {
  const cells = [
    ['bench', 'case', 'backend', 'n', 'metric', 'value', 'unit', 'p50', 'p95', 'p99', 'samples', 'cpu µs', 'ratio'],
    ...rows.map((row) => [
      row.bench,
      row.case,
      row.backend,
      String(row.n),
      row.metric,
      figureText(row.value),
      row.unit,
      figureText(row.p50),
      figureText(row.p95),
      figureText(row.p99),
      row.samples === undefined ? '' : String(row.samples),
      figureText(row.cpu),
      row.ratio === undefined ? '' : row.ratio.toFixed(2),
    ]),
  ];
  return columns(cells);
}

/** Lines of cells, with the columns below each other. */
export function columns(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
