/**
 * Builds the command line. `nouns.ts` has the nouns, and `command/` a file for each. A command line loads only the file
 * of its noun; the help shows the others from `completion/commands.jsonl`, which `npm run docs` writes.
 */
import { Command, Help, type Option } from '@commander-js/extra-typings';
import { exampleText } from './options/example.ts';
import { describedCommands } from './completion/described.ts';
import type { CommandTree } from './completion/tree.ts';
import type { CliContext } from './context.ts';
import { nounFiles } from './nouns.ts';
import { version } from './version.ts';

/**
 * The program with all commands, or, for a command line, with the commands of its noun and the names of the other nouns.
 */
export async function buildProgram(
  context: CliContext,
  streams: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream },
  words?: readonly string[],
): Promise<Command> {
  const program = emptyProgram(streams);
  const described = words && describedCommands();
  const [first, second] = (words ?? []).filter((word) => !word.startsWith('-'));
  const noun = first === 'help' ? second : first;
  let isLoaded = false;
  for (const { names, load } of nounFiles) {
    const known = described && names.map((name) => described.find((one) => one.name === name));
    if (!known || names.some((name) => name === noun) || known.includes(undefined)) {
      (await load())(program, context);
      isLoaded = true;
    } else for (const one of known) if (one) addName(program, one);
  }
  if (isLoaded) await addFormats(program, context);
  return program;
}

/** The options of every command with `--output`. */
async function addFormats(program: Command, { output }: CliContext): Promise<void> {
  const { addViews, applyView } = await import('./options/format.ts');
  addViews(program);
  program.hook('preAction', (_, command) => applyView(command, output));
}

/** A noun without its commands, for the help and for the nearest name of a wrong one. */
function addName(program: Command, { name, description, arguments: taken, options }: CommandTree): void {
  const command = program.command(name).description(description);
  for (const { usage } of taken) command.argument(usage);
  // The help writes [options] for a command that has any. Every command has --help.
  if (options.length > 0) command.option('--options');
}

function emptyProgram(streams: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream }): Command {
  return new Command('anneal')
    .description('Anneal: from templates to running bare-metal machines.')
    .version(version, '-V, --version')
    .showHelpAfterError('(add --help to see how to use the command)')
    .exitOverride()
    .configureHelp({
      // Do not show an empty list as a default.
      optionDescription: (option) =>
        new Help().optionDescription(
          Array.isArray(option.defaultValue)
            ? (Object.create(option, { defaultValue: { value: undefined } }) as Option)
            : option,
        ),
    })
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
      // Commander's own word for an argument says nothing to a user.
      outputError: (text, write) => write(text.replace('command-argument value ', '')),
    })
    .addHelpText('after', exampleText('serve', 'stack create web -t web.yaml', 'stack list', 'event watch'))
    .addHelpText(
      'after',
      '\nConnects to OS_AUTH_URL if set, otherwise to the local server whose data folder (.anneal) is in this or a parent' +
        '\nfolder, otherwise to the server of the last `login` or `server use`. --server <name> chooses another one.' +
        '\nExit status: 0 success, 1 failure, 2 invalid input, 130 interrupted.\n',
    );
}
