/** The commands as `npm run docs` wrote them, for completion and help without loading any command. */
import { readFileSync } from 'node:fs';
import type { CommandTree } from './tree.ts';

export const commandsFile = new URL('./commands.jsonl', import.meta.url);

/** A noun, or a command of the noun above it. */
type Line = Omit<CommandTree, 'commands'> & { readonly of?: string };

/** The content of the file: a line for each noun and each command, so that changes to different commands merge. */
export const commandsText = (tree: CommandTree): string =>
  tree.commands
    .flatMap((noun): Line[] => [
      headOf(noun),
      ...noun.commands.map((command) => ({ of: noun.name, ...headOf(command) })),
    ])
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

const headOf = ({ name, description, options, arguments: taken }: CommandTree): Line => ({
  name,
  description,
  options,
  arguments: taken,
});

/** Nouns that the last `npm run docs` has not seen are absent. */
export function describedCommands(): CommandTree[] {
  const lines = readFileSync(commandsFile, 'utf8').trimEnd().split('\n');
  const nouns = new Map<string, CommandTree & { commands: CommandTree[] }>();
  for (const line of lines) {
    const { of, ...described } = JSON.parse(line) as Line;
    const command = { ...described, commands: [] };
    if (of === undefined) nouns.set(described.name, command);
    else nouns.get(of)?.commands.push(command);
  }
  return [...nouns.values()];
}
