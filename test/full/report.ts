/** The texts of `npm run test:full`: its table, its progress and its report. */
import { stripVTControlCharacters } from 'node:util';
import type { FullRun, PartResult } from './choose.ts';
import type { TestPart } from './parts.ts';

const mostLines = 20;
const tailLines = 10;

/** A duration as a reader says it. */
export function spell(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const usualMinutes = (parts: readonly TestPart[]): number => parts.reduce((sum, { minutes }) => sum + minutes, 0);

/** The table of `--list`. */
export function partsTable(parts: readonly TestPart[]): string {
  const width = Math.max('all'.length, ...parts.map(({ name }) => name.length));
  const rows = parts.map(
    ({ name, minutes, description }) => `${name.padEnd(width)}  ${`${minutes}`.padStart(3)} min  ${description}\n`,
  );
  return `${rows.join('')}${'all'.padEnd(width)}  ${`${usualMinutes(parts)}`.padStart(3)} min\n`;
}

/** The outcome of a part, with its reason and its duration. */
export function resultLine({ name, outcome, reason, seconds }: PartResult): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return `${name} ${outcome}${why}${seconds > 0 ? ` (${spell(seconds)})` : ''}`;
}

/** The line after a part: its end and the parts that are left. */
export function progressLine(result: PartResult, left: readonly TestPart[]): string {
  if (left.length === 0) return resultLine(result);
  return `${resultLine(result)}; left: ${left.map((part) => part.name).join(', ')} (about ${usualMinutes(left)} min)`;
}

/** The lines that say what failed: those of failed tests, else the last ones. */
export function failingLines(output: string): string[] {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const matching = (pattern: RegExp): string[] => [...new Set(lines.filter((line) => pattern.test(line)))];
  const [failed, crossed] = [matching(/\bFAIL\b/), matching(/^×/)];
  if (failed.length + crossed.length === 0) return lines.slice(-tailLines);
  return (failed.length > 0 ? failed : crossed).slice(0, mostLines);
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The report of a run, in Markdown. */
export function reportOf({ commit, isChanged, chosen, results }: FullRun, at: string): string {
  const found = chosen.map(
    (name): PartResult => results.find((result) => result.name === name) ?? { name, outcome: 'not run', seconds: 0 },
  );
  const counts = [...Map.groupBy(found, ({ outcome }) => outcome)].map(
    ([outcome, { length }]) => `${length} ${outcome}`,
  );
  const rows = found.map(({ name, outcome, reason, seconds, log = '' }) => {
    const end = reason === undefined ? outcome : `${outcome}: ${cell(reason)}`;
    return `| ${name} | ${end} | ${seconds > 0 ? spell(seconds) : ''} | ${log} |\n`;
  });
  const details = results
    .filter(({ lines = [] }) => lines.length > 0)
    .map(({ name, lines = [] }) => `\n## ${name}\n\n${lines.map((line) => `    ${line}\n`).join('')}`);
  return `# npm run test:full, ${at}

Commit ${commit.slice(0, 12)}${isChanged ? ' with changes that are not in it' : ''}: ${counts.join(', ')}.

| part | outcome | time | log |
| --- | --- | --- | --- |
${rows.join('')}${details.join('')}`;
}
