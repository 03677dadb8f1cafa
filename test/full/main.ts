/** `npm run test:full`: runs the tests that `npm test` leaves out, in named parts, and reports them. */
import { constants } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  continueRun,
  firstChange,
  namedParts,
  RefusedRun,
  whyTooLong,
  type PartResult,
  type RunPlan,
} from './choose.ts';
import { killPart, type PartTrace } from './ending.ts';
import { testParts, type TestPart } from './parts.ts';
import { resultLine, partsTable, progressLine, reportOf } from './report.ts';
import { commitBefore, filesSince, testedTree, whyNoRevision } from './revisions.ts';
import { runPart } from './run-part.ts';
import { readRun, recoverFrom, stateFolder, writeRun, keepFile, type KeptRun } from './state.ts';

const usage = `Usage: npm run test:full -- [PART…] [options]

Runs the tests that npm test leaves out: all parts, or those with these names.

  --list                the parts with their usual durations
  --resume              continue the last run: without the parts that passed in it
  --changed-since REV   only parts whose sources changed since a revision, or since a time: "12 hours ago"
  --within MINUTES      start no part that usually takes longer than what is left of this time
  --help                show this help

The logs of the parts and the report are in ${stateFolder}/. Ends with 1 when a part failed.
`;

interface Options {
  readonly names: readonly string[];
  readonly resume: boolean;
  readonly since: string | undefined;
  /** Minutes. */
  readonly within: number;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Undefined when the options only ask for a text, which it prints. */
function readOptions(): Options | undefined {
  const { values, positionals } = parseArgs({
    options: {
      list: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      'changed-since': { type: 'string' },
      within: { type: 'string', default: 'Infinity' },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.help || values.list) {
    process.stdout.write(values.help ? usage : partsTable(testParts));
    return undefined;
  }
  const within = Number(values.within);
  if (!(within > 0)) throw new RefusedRun(`--within ${values.within} is not a number of minutes above 0.`);
  return { names: positionals, resume: values.resume, since: values['changed-since'], within };
}

function planRun({ names, resume, since }: Options, last: KeptRun | undefined): RunPlan {
  const named = namedParts(testParts, names);
  const plan = resume
    ? continueRun(testParts, { names, last, tree: testedTree() })
    : { chosen: named, parts: named, kept: [] };
  if (since === undefined) return plan;
  const { commit, note } = commitBefore(since);
  if (note !== undefined) print(note);
  const files = filesSince(commit);
  const changes = new Map(plan.parts.map((part) => [part, firstChange(part, files)]));
  const isChanged = (part: TestPart): boolean => changes.get(part) !== undefined;
  for (const [{ name }, file] of changes) {
    if (file !== undefined) print(`${name}: ${file} has changed since ${commit.slice(0, 12)}`);
  }
  const parts = plan.parts.filter(isChanged);
  if (parts.length === 0) print(`No source of these parts has changed since ${commit.slice(0, 12)}; none runs.`);
  const isKept = ({ name }: TestPart): boolean => plan.kept.some((result) => result.name === name);
  return { ...plan, parts, chosen: plan.chosen.filter((part) => isKept(part) || isChanged(part)) };
}

/** The signal that stops the run. A second one does not wait for the part to end in order. */
class Stop {
  readonly #stopped = new AbortController();
  readonly signal = this.#stopped.signal;
  trace: PartTrace | undefined;
  by: NodeJS.Signals | undefined;

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#on(name));
  }

  #on(name: NodeJS.Signals): void {
    if (this.by !== undefined && this.trace) void killPart(this.trace);
    else print(`\n${name}: ends everything that the part has started …`);
    this.by = name;
    this.#stopped.abort();
  }
}

/** Why a part does not run. Undefined when it does. */
function whyNot(part: TestPart, minutesLeft: number): Pick<PartResult, 'outcome' | 'reason'> | undefined {
  const tooLong = whyTooLong(part, minutesLeft);
  if (tooLong !== undefined) return { outcome: 'left out', reason: tooLong };
  const skipped = part.revisionBefore === undefined ? undefined : whyNoRevision(part.revisionBefore);
  return skipped === undefined ? undefined : { outcome: 'skipped', reason: skipped };
}

/** Runs the parts in order, and keeps the state after each. */
async function runParts({ parts, chosen, kept }: RunPlan, within: number, stop: Stop): Promise<KeptRun> {
  const begin = performance.now();
  let run: KeptRun = { ...testedTree(), chosen: chosen.map(({ name }) => name), results: kept };
  writeRun(run);
  for (const [index, part] of parts.entries()) {
    if (stop.signal.aborted) break;
    const { name, minutes, description } = part;
    const why = whyNot(part, within - (performance.now() - begin) / 60_000);
    const log = join(stateFolder, `${name}.log`);
    const onBegin = (trace: PartTrace): void => {
      stop.trace = trace;
      writeRun({ ...run, running: { runner: process.pid, trace } });
    };
    const show = (text: string): void => void process.stdout.write(text);
    if (!why) print(`\n[${index + 1}/${parts.length}] ${name} (about ${minutes} min): ${description}`);
    const result: PartResult = why
      ? { name, seconds: 0, ...why }
      : { ...(await runPart(part, { log, stop: stop.signal, onBegin, show })), log };
    stop.trace = undefined;
    run = { ...run, results: [...run.results.filter((each) => each.name !== name), result] };
    writeRun(run);
    print(why ? `\n${resultLine(result)}` : progressLine(result, parts.slice(index + 1)));
  }
  return run;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 0;
  const last = readRun();
  if (last) await recoverFrom(last);
  const plan = planRun(options, last);
  if (plan.note !== undefined) print(plan.note);
  if (options.since !== undefined && plan.parts.length === 0) return 0;
  const stop = new Stop();
  // Without a reader the run continues: its logs and its report are files.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const run = await runParts(plan, options.within, stop);
  const report = reportOf(run, new Date().toISOString());
  const file = join(stateFolder, 'report.md');
  keepFile(file, report);
  print(`\n${report}\nThis report is in ${file}.`);
  if (stop.by !== undefined) return 128 + constants.signals[stop.by];
  return run.results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

process.chdir(join(import.meta.dirname, '..', '..'));
try {
  process.exitCode = await main();
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  const isRefused = error instanceof RefusedRun || code?.startsWith('ERR_PARSE_ARGS');
  if (!isRefused) throw error;
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}
