/** The choice of the parts of a run: by name, by the last run, by changed files, and by the time that is left. */
import { matchesGlob } from 'node:path/posix';
import type { TestPart } from './parts.ts';

/** A run that cannot begin: what the operator asked for is not possible. */
export class RefusedRun extends Error {}

/** The end of a part. */
export type PartOutcome = 'passed' | 'failed' | 'stopped' | 'skipped' | 'left out' | 'not run';

/** A part of a run that has ended. */
export interface PartResult {
  readonly name: string;
  readonly outcome: PartOutcome;
  readonly seconds: number;
  /** Why it did not pass. */
  readonly reason?: string;
  /** Path from the root of the repository. */
  readonly log?: string;
  /** The lines of its output that say what failed. */
  readonly lines?: readonly string[];
}

/** The source of a run. */
export interface TestedTree {
  readonly commit: string;
  /** True when there are changes that are not in the commit. */
  readonly isChanged: boolean;
}

/** A run that may be unfinished. */
export interface FullRun extends TestedTree {
  /** Names of the parts that it runs, in order. */
  readonly chosen: readonly string[];
  readonly results: readonly PartResult[];
}

/** The parts of a run: `chosen` are all of it, `parts` those that still have to run. */
export interface RunPlan {
  readonly chosen: readonly TestPart[];
  readonly parts: readonly TestPart[];
  /** Results of the run that continues. */
  readonly kept: readonly PartResult[];
  /** A line for the operator. */
  readonly note?: string;
}

/** The named parts in the order of the table; all without a name. @throws for an unknown name */
export function namedParts(all: readonly TestPart[], names: readonly string[]): readonly TestPart[] {
  const unknown = names.filter((name) => !all.some((part) => part.name === name));
  if (unknown.length > 0) {
    const known = all.map(({ name }) => name).join(', ');
    throw new RefusedRun(`There is no part ${unknown.join(', ')}. The parts are: ${known}.`);
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

/** Continues the last run: leaves out what passed in it. Starts from the beginning when it tested another commit. */
export function continueRun(
  all: readonly TestPart[],
  { names, last, tree }: { names: readonly string[]; last: FullRun | undefined; tree: TestedTree },
): RunPlan {
  // A name of the last run may be gone from the table.
  const before = (last?.chosen ?? []).filter((name) => all.some((part) => part.name === name));
  const chosen = namedParts(all, names.length > 0 ? names : before);
  const again = (note: string): RunPlan => ({ chosen, parts: chosen, kept: [], note });
  if (!last) return again('There is no earlier run; starting from the beginning.');
  if (last.commit !== tree.commit) {
    const [then, now] = [last.commit, tree.commit].map((commit) => commit.slice(0, 12));
    return again(`The last run tested ${then}, and this is ${now}; starting from the beginning.`);
  }
  const passed = last.results.filter(({ outcome }) => outcome === 'passed');
  return {
    chosen: all.filter((part) => chosen.includes(part) || before.includes(part.name)),
    parts: chosen.filter(({ name }) => !passed.some((result) => result.name === name)),
    kept: last.results.filter((result) => result.outcome === 'passed' || !chosen.some((p) => p.name === result.name)),
  };
}

/**
 * The files with another content, from `git diff --name-status -M100% -z`. A file that was only renamed is not one, because
 * git then reports a similarity of 100 %.
 */
export function changedFiles(nameStatus: string): string[] {
  const words = nameStatus.split('\0').values();
  const files: string[] = [];
  for (const status of words) {
    if (status === '') continue;
    const file = words.next().value ?? '';
    if (/^[RC]/.test(status)) words.next();
    else files.push(file);
  }
  return files;
}

/** Tests and docs do not change what the product does. */
const isProduct = (file: string): boolean => !/\.(?:md|(?:test|contract|soak)\.ts)$|(?:^|\/)testing\//.test(file);

/** The first file because of which a part has to run. Undefined when nothing of it has changed. */
export const firstChange = ({ folders }: TestPart, files: readonly string[]): string | undefined =>
  files.find((file) =>
    folders.some(
      (each) =>
        (isProduct(file) || each.endsWith('.md')) && (matchesGlob(file, each) || matchesGlob(file, `${each}/**`)),
    ),
  );

/** Why a part does not fit into the minutes that are left. Undefined when it does. Its usual duration has whole minutes. */
export function whyTooLong({ minutes }: TestPart, left: number): string | undefined {
  const whole = Math.max(0, Math.round(left));
  return minutes <= whole ? undefined : `it usually takes ${minutes} min, and ${whole} min are left`;
}
