/** Answers the completion script of a shell: `anneal completion-server <shell> -- <words up to the cursor>`. */
import { takeServer } from './server-option.ts';
import { completionsFor, type Completion, type Noun } from './completion/complete.ts';
import { describedCommands } from './completion/described.ts';
import type { CompletedShell } from './completion/script.ts';

/** The line by which the script completes the names of files itself. */
const filesMark = ':files';

/** Prints a line per completion in the form of the shell. The last word is the one at the cursor, perhaps empty. */
export async function printCompletions(words: readonly string[], write: (text: string) => void): Promise<void> {
  const [shell, , ...line] = words;
  const found = await completionsFor({
    tree: { name: 'anneal', description: '', options: [], arguments: [], commands: describedCommands() },
    words: line.slice(0, -1),
    last: line.at(-1) ?? '',
    names: (noun, before) => existingNames(noun, { before, line }),
  });
  if (found === 'files') write(`${filesMark}\n`);
  else for (const one of found) write(`${lineOf(one, shell as CompletedShell)}\n`);
}

/** Loads the client only for names that a server has. The server is the one that the line names. */
async function existingNames(
  noun: Noun,
  { before, line }: { before: readonly string[]; line: readonly string[] },
): Promise<readonly string[]> {
  const [{ namesFor }, { openContext }] = await Promise.all([import('./completion/names.ts'), import('./start.ts')]);
  const { server } = takeServer(line.slice(0, -1));
  return namesFor(noun, openContext(new AbortController().signal, { words: [], server }), before);
}

function lineOf({ name, description }: Completion, shell: CompletedShell): string {
  switch (shell) {
    case 'zsh': {
      const parts = description === '' ? [name] : [name, description];
      return parts.map((part) => part.replaceAll(':', String.raw`\:`)).join(':');
    }
    case 'fish':
      return description === '' ? name : `${name}\t${description}`;
    // Also for a script of another shell, which has no form of its own.
    default:
      return name;
  }
}
