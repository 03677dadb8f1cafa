/**
 * The journal of the sh agent of the same host: a folder for each request. The full agent reads it when it takes over
 * from the sh agent, and writes into it before the sh agent takes over, so that a change of the agent repeats nothing.
 *
 * S1 The sh agent hands over only when it has answered what it began. So the full agent never waits for a run of the sh
 *    agent; a run that was left behind counts as interrupted.
 * S2 A request appears in the journal as a whole: its folder is written beside it and renamed.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asText } from '@anneal/tools/tool.ts';
import type { JournalEntry } from './journal.ts';

const folderOf = (journal: string, id: string): string => join(journal, id.replaceAll(/[^\w.-]/g, '_'));

/** How far the sh agent came with a request. `unknown`: it never began it. */
export function shellStateOf(journal: string | undefined, id: string): 'unknown' | 'begun' | 'answered' {
  if (journal === undefined) return 'unknown';
  const folder = folderOf(journal, id);
  if (existsSync(join(folder, 'answered'))) return 'answered';
  return existsSync(join(folder, 'started')) ? 'begun' : 'unknown';
}

/** Notes a request that this agent began, so that the sh agent does not begin it. A repeat changes nothing. */
export function noteForShell(journal: string, { id, state, attempts, result }: JournalEntry): void {
  if (!result && attempts === 0) return;
  const folder = folderOf(journal, id);
  if (existsSync(join(folder, 'started'))) return;
  const made = `${folder}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(join(made, 'started'), { recursive: true, mode: 0o700 });
  mkdirSync(join(made, 'work'), { mode: 0o700 });
  const write = (name: string, text = ''): void => writeFileSync(join(made, name), text, { mode: 0o600 });
  if (result) {
    write('stdout', result.stdout);
    write('stderr', result.stderr);
    for (const [name, value] of Object.entries(result.outputs)) {
      if (/^[\w.-]{1,200}$/.test(name)) write(`work/output.${name}`, asText(value));
    }
    if (state === 'answered') write('answered');
  } else write('interrupted');
  write(`status.${result?.status_code ?? 125}`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
}
