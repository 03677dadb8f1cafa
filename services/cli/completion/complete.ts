/** Completions at the cursor: commands, options, values of options, and names of existing objects. */
import type { CommandTree } from './tree.ts';

export interface Completion {
  name: string;
  description: string;
}
export type Noun =
  | 'stack'
  | 'resource'
  | 'node'
  | 'host'
  | 'queue'
  | 'deployment'
  | 'context'
  | 'subscription'
  | 'dead-letter'
  | 'tag'
  | 'alarm'
  | 'group'
  | 'server'
  | 'type';

/** The kind of object that an argument or option names. */
const nounsOfArguments: Readonly<Record<string, Noun>> = {
  stack: 'stack',
  stacks: 'stack',
  resource: 'resource',
  node: 'node',
  host: 'host',
  queue: 'queue',
  deployment: 'deployment',
  context: 'context',
  alarm: 'alarm',
  subscription: 'subscription',
  subscriptions: 'subscription',
  server: 'server',
  type: 'type',
};
const nounsOfOptions: Readonly<Record<string, Noun>> = {
  '--host': 'host',
  '--stack': 'stack',
  '--queue': 'queue',
  '--tag': 'tag',
  '--group': 'group',
  '--server': 'server',
};
/** Each command accepts it, so no command lists it: see `takeServer`. */
const everywhere: CommandTree['options'] = [
  { flags: ['--server'], description: 'server to use, of those logged in to', takesValue: true, choices: [] },
];
const fileOptions = /^(-t|-e|--template|--environment|--password-file|--data)$/;

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
  const taken: string[] = [];
  let pending: CommandTree['options'][number] | undefined;
  for (const word of words) {
    if (pending) {
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = [...command.options, ...everywhere].find(({ flags }) => flags.includes(word));
      if (option?.takesValue) pending = option;
    } else {
      const below = command.commands.find(({ name }) => name === word);
      if (below) command = below;
      else taken.push(word);
    }
  }
  const matching = (all: readonly Completion[]): Completion[] => all.filter(({ name }) => name.startsWith(last));
  const plain = (all: readonly string[]): Completion[] => matching(all.map((name) => ({ name, description: '' })));

  if (pending) {
    if (pending.choices.length > 0) return plain(pending.choices);
    const noun = pending.flags.map((flag) => nounsOfOptions[flag]).find((one) => one !== undefined);
    // In `serve`, `--host` is an address to listen on and not a host.
    if (noun && command.name !== 'serve') return plain(await names(noun, taken));
    return pending.flags.some((flag) => fileOptions.test(flag)) ? 'files' : [];
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
  const noun = nounsOfArguments[argument.name];
  return noun ? plain(await names(noun, taken)) : [];
}
