/** The commands as data, read from the program itself. `npm run docs` writes them to commands.jsonl. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export interface CommandTree {
  readonly name: string;
  readonly description: string;
  readonly options: readonly {
    readonly flags: readonly string[];
    readonly description: string;
    /** The value that it takes, as in the help: `file`, `name=value`. Absent: none. */
    readonly value?: string;
    readonly choices: readonly string[];
  }[];
  readonly arguments: readonly {
    readonly name: string;
    readonly many: boolean;
    /** As in the help: `<stack>`, `[resource]`, `<names...>`. */
    readonly usage: string;
    readonly choices: readonly string[];
  }[];
  readonly commands: readonly CommandTree[];
}

export function commandTree(command: CommandUnknownOpts): CommandTree {
  const help = command.createHelp();
  return {
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => typeof flag === 'string'),
      description: option.description,
      ...valueOf(option),
      choices: option.argChoices ?? [],
    })),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      many: argument.variadic,
      usage: usageOf(argument),
      choices: argument.argChoices ?? [],
    })),
    commands: help
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help')
      .map(commandTree),
  };
}

function valueOf({ flags }: { readonly flags: string }): { value?: string } {
  const [, value] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  return value === undefined ? {} : { value };
}

function usageOf(argument: CommandUnknownOpts['registeredArguments'][number]): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}
