/** The name that a user may have meant: the nearest of those that completion offers in its place. */
import { nearestOf } from '@anneal/runtime/nearest.ts';
import { completionsFor, type Noun } from './complete.ts';
import { describedCommands } from './described.ts';

/** @param message the error of the command; it contains the name that does not exist */
export async function suggestName(parameters: {
  words: readonly string[];
  message: string;
  names: (noun: Noun, before: readonly string[]) => Promise<readonly string[]>;
}): Promise<string | undefined> {
  const { words, message, names } = parameters;
  const tree = { name: 'anneal', description: '', options: [], arguments: [], commands: describedCommands() };
  for (const [at, word] of words.entries()) {
    if (word.startsWith('-') || !message.includes(word)) continue;
    const offered = await completionsFor({ tree, words: words.slice(0, at), last: '', names });
    if (offered === 'files') continue;
    const known = offered.map(({ name }) => name).filter((name) => !name.startsWith('-'));
    if (known.includes(word)) continue;
    const nearest = nearestOf(word, known);
    if (nearest !== undefined && !message.includes(nearest)) return nearest;
  }
  return undefined;
}
