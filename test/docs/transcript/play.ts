/** Runs the commands of a page on a server, in a folder of their own, and compares each output with the page. */
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { openCommands } from './commands.ts';
import { firstDifference, shownLines } from './match.ts';
import { parseTranscript, type TranscriptCommand } from './parse.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { processes, type Process } from '../../processes.ts';
import { openShell, type PageShell, type PageShellResult } from './shell.ts';

const root = join(import.meta.dirname, '../../..');
/** How long a command of an `until` fence is repeated. */
const patienceMs = 60_000;

export interface PageServer {
  /** The data folder of the server, in which the command line finds its address and password. */
  data: string;
  /** The environment of the commands. */
  env: NodeJS.ProcessEnv;
  /** Called with each command before it runs, and with what it printed. */
  onCommand?: (command: string) => void;
  onResult?: (shown: readonly string[]) => void;
}

/** Whether a page has commands to run. */
export const isTranscript = (markdown: string): boolean =>
  parseTranscript(markdown).some(({ kind }) => kind === 'command');

/**
 * Plays one page. Background processes of its commands end with it; stacks that the page leaves stay. A page must stop
 * what leaves its shell, such as the agent of a machine that joined.
 *
 * @param page a path from the root of the repository
 * @returns how many commands ran
 * @throws Error with page, line, command, what the page shows and what was printed, at the first difference; or with what
 *   still runs
 */
export async function playPage(page: string, server: PageServer): Promise<number> {
  const steps = parseTranscript(await readFile(join(root, page), 'utf8'));
  const folder = await mkdtemp(join(tmpdir(), `anneal-page-${basename(dirname(page))}-`));
  // The logins of a page are its own.
  const own: NodeJS.ProcessEnv = { ...server.env, NO_COLOR: '1', XDG_CONFIG_HOME: folder };
  const commands = await openCommands(own);
  // As in a clone whose server runs with `npm start`.
  await symlink(server.data, join(folder, '.anneal'));
  for (const name of ['examples', 'libs', 'node_modules', 'test']) await symlink(join(root, name), join(folder, name));
  const path = [commands.folder, dirname(process.execPath), own['PATH'] ?? ''].join(delimiter);
  const shell = openShell({ cwd: folder, env: { ...own, PATH: path } });
  const left = (): Process[] => processes().filter(({ command }) => command.includes(folder));
  let ran = 0;
  try {
    for (const step of steps) {
      if (step.kind === 'file') await writeFile(join(folder, step.name), step.content);
      else {
        server.onCommand?.(step.command);
        // Not inside the call: an optional call leaves out its arguments.
        const shown = await runStep(shell, step, page);
        server.onResult?.(shown);
        ran += 1;
      }
    }
    await shell.close();
    await eventually(() => left().length === 0, { what: `the end of all that ${page} started`, last: left });
  } finally {
    await shell.close();
    await commands.close();
    for (const { pid } of left()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  return ran;
}

/** Errors belong to what a reader sees only when the command fails: notes about progress do not. */
const outputOf = ({ stdout, stderr, status }: PageShellResult): string =>
  status === 0 ? stdout : `${stdout}${stderr}`;

async function runStep(shell: PageShell, step: TranscriptCommand, page: string): Promise<string[]> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const result = await shell.run(step.command);
    const output = outputOf(result);
    const difference = result.status === step.status ? firstDifference(step.expected, output) : undefined;
    if (result.status === step.status && difference === undefined) return shownLines(output);
    if (step.until && performance.now() < deadline) continue;
    throw new Error(
      [
        `${page}:${step.line}: $ ${step.command}`,
        result.status === step.status
          ? `first difference at: ${difference}`
          : `exit status ${result.status} instead of ${step.status}`,
        '--- the page shows',
        ...step.expected,
        '--- printed',
        ...shownLines(`${result.stdout}${result.stderr}`),
      ].join('\n'),
    );
  }
}
