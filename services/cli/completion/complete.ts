/** Completions at the cursor: commands, options, values of options, and names of existing objects. */
import type { CommandTree } from './tree.ts';

export interface Completion {
  name: string;
  description: string;
}
/** The kinds of objects that arguments and the values of options name by their own name, some in the plural. */
const nouns = [
  'stack',
  'resource',
  'output',
  'snapshot',
  'hook',
  'group',
  'node',
  'inspection-rule',
  'host',
  'queue',
  'deployment',
  'context',
  'subscription',
  'workflow',
  'image',
  'project',
  'user',
  'token',
  'credential',
  'alarm',
  'server',
  'tag',
  'type',
] as const;
export type Noun = (typeof nouns)[number] | 'dead-letter' | 'execution';
/** The objects that a command names by their ids. */
const nounsWithIds: Readonly<Record<string, Noun>> = { 'dead-letter': 'dead-letter', workflow: 'execution' };
/** Each command accepts it, so no command lists it: see `takeServer`. */
const everywhere: CommandTree['options'] = [
  { flags: ['--server'], description: 'server to use, of those logged in to', value: 'server', choices: [] },
];

/** The kind of object that an argument or the value of an option names, in a command of the noun `of`. */
function nounOf(named: string, of: string): Noun | undefined {
  if (named === 'id' || named === 'ids') return nounsWithIds[of];
  const name = named.replace(/s$/, '');
  return nouns.find((noun) => noun === name);
}

export async function completionsFor(parameters: {
  tree: CommandTree;
  /** The complete words before the cursor, without the program's name. */
  words: readonly string[];
  /** The written part of the word at the cursor. */
  last: string;
  /** `before`: the arguments of the command in front of the cursor. */
  names: (noun: Noun, before: readonly string[]) => Promise<readonly string[]>;
}): Promise<readonly Completion[] | 'files'> {
  const { tree, words, last, names } = parameters;
  let command = tree;
  /** The noun of the command. */
  let of = '';
  const taken: string[] = [];
  let pending: CommandTree['options'][number] | undefined;
  for (const word of words) {
    if (pending) {
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = [...command.options, ...everywhere].find(({ flags }) => flags.includes(word));
      if (option?.value !== undefined) pending = option;
    } else {
      const below = command.commands.find(({ name }) => name === word);
      if (below) {
        if (command === tree) of = below.name;
        command = below;
      } else taken.push(word);
    }
  }
  const matching = (all: readonly Completion[]): Completion[] => all.filter(({ name }) => name.startsWith(last));
  const plain = (all: readonly string[]): Completion[] => matching(all.map((name) => ({ name, description: '' })));

  if (pending) {
    if (pending.choices.length > 0) return plain(pending.choices);
    const { value = '' } = pending;
    if (value === 'file' || value === 'folder') return 'files';
    // A path names the group with its stack; an argument only the group.
    const noun = pending.flags.includes('--group') ? 'group' : nounOf(value, of);
    return noun ? plain(await names(noun, [])) : [];
  }
  if (last.startsWith('-')) {
    return matching(
      [...command.options, ...everywhere].flatMap(({ flags, description }) => {
        const name = flags.at(-1);
        return name === undefined ? [] : [{ name, description }];
      }),
    );
  }
  if (command.commands.length > 0)
    return matching(command.commands.map(({ name, description }) => ({ name, description })));
  const argument = command.arguments[taken.length] ?? command.arguments.findLast(({ many }) => many);
  if (!argument) return [];
  if (argument.choices.length > 0) return plain(argument.choices);
  if (argument.name === 'file') return 'files';
  const noun = nounOf(argument.name, of);
  return noun ? plain(await names(noun, taken)) : [];
}
