/** Prints headings, sentences, commands and quoted output. A failed check ends the demo. */
import { styleText } from 'node:util';

const paint = {
  bold: (text: string) => styleText('bold', text),
  dim: (text: string) => styleText('dim', text),
  green: (text: string) => styleText('green', text),
  magenta: (text: string) => styleText('magenta', text),
};

const startedAt = Date.now();
const seconds = (): string => `${((Date.now() - startedAt) / 1000).toFixed(1)}s`;

export const elapsedSeconds = (): number => (Date.now() - startedAt) / 1000;

const write = (text: string): void => void process.stdout.write(`${text}\n`);

export function heading(text: string): void {
  write(`\n${styleText(['bold', 'cyan'], `▌ ${text}`)} ${paint.dim(seconds())}`);
}
export function say(text: string): void {
  write(`  ${text}`);
}
/** Prints a command in the form that a user types. */
export function command(args: readonly string[]): void {
  write(
    `\n  ${paint.dim('$')} ${paint.bold(`anneal ${args.map((word) => (/^[\w./:=#*-]+$/.test(word) ? word : `'${word}'`)).join(' ')}`)}`,
  );
}
export function reportQuote(text: string): void {
  for (const line of text.trimEnd().split('\n')) write(`  ${paint.dim('│')} ${line}`);
}

// While a command redraws a tree on the terminal, lines of the listener would break it, so they wait.
let waitingLines: string[] | undefined;

export const fromListener = (text: string): void => aside(`  ${paint.magenta('listener')} ${text}`);
/** A line of the console of a machine. */
export const fromMachine = (name: string, text: string): void => aside(`  ${paint.magenta(name)} ${text}`);

function aside(line: string): void {
  if (waitingLines) waitingLines.push(line);
  else write(line);
}
export async function whileDrawing<T>(work: () => Promise<T>): Promise<T> {
  waitingLines = [];
  try {
    return await work();
  } finally {
    const lines = waitingLines;
    waitingLines = undefined;
    for (const line of lines) write(line);
  }
}

export class FailedCheck extends Error {
  override readonly name = 'FailedCheck';
}

/** Prints a true statement. @throws FailedCheck with the value found, when it is false. */
export function check(truth: boolean, text: string, found?: unknown): asserts truth {
  if (!truth) {
    const seen =
      found === undefined ? '' : `\nFound: ${typeof found === 'string' ? found : JSON.stringify(found, null, 2)}`;
    throw new FailedCheck(`Check failed: ${text}.${seen}`);
  }
  write(`  ${paint.green('✔')} ${text}`);
}

/** Waits for a fact. @throws FailedCheck with the last state seen, at the deadline. */
export async function untilFact<T>(parameters: {
  fact: string;
  seconds: number;
  signal: AbortSignal;
  look: () => Promise<T> | T;
  holds: (seen: T) => boolean;
}): Promise<T> {
  const { fact, signal, look, holds } = parameters;
  const deadline = Date.now() + parameters.seconds * 1000;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (holds(seen)) return seen;
    if (Date.now() > deadline) {
      throw new FailedCheck(
        `Not true within ${parameters.seconds} seconds: ${fact}.\nLast seen: ${JSON.stringify(seen, null, 2)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const reportFailure = (text: string): void => write(`\n${styleText(['bold', 'red'], text)}`);
