/** The command line as data, for its reference page. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export interface CommandDescription {
  readonly usage: string;
  readonly description: string;
  readonly options: readonly { flags: string; description: string }[];
}

/** Every executable command, in the order of the help. Omits hidden options. */
export function describeCommands(program: CommandUnknownOpts, before = ''): CommandDescription[] {
  return program.commands.flatMap((command) => {
    const name = `${before}${command.name()}`;
    if (command.commands.length > 0) return describeCommands(command, `${name} `);
    return [
      {
        usage: `anneal ${name} ${command.usage()}`.trim(),
        description: command.description(),
        options: command.options
          .filter((option) => !option.hidden)
          .map(({ flags, description }) => ({ flags, description })),
      },
    ];
  });
}
