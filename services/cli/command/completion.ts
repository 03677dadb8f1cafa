/** `anneal completion <shell>`, and the hidden command that shells call for completions. */
import { createRequire } from 'node:module';
import type Tabtab from '@pnpm/tabtab';
import { Argument, type Command } from '@commander-js/extra-typings';
import { completionsFor } from '../completion/complete.ts';
import { namesFor } from '../completion/names.ts';
import { commandTree } from '../completion/tree.ts';
import type { CliContext } from '../context.ts';
import { exampleText } from './options.ts';

// A CommonJS package without named exports that Node can detect.
const tabtab = createRequire(import.meta.url)('@pnpm/tabtab') as typeof Tabtab;
const shells = ['bash', 'zsh', 'fish'] as const;

export function addCompletionCommands(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('completion')
    .description('print the shell script that completes commands, options and names')
    .addArgument(new Argument('<shell>', 'name of your shell').choices(shells))
    .addHelpText(
      'after',
      exampleText(
        'completion bash > ~/.local/share/bash-completion/completions/anneal',
        'completion zsh > ~/.zfunc/_anneal',
        'completion fish > ~/.config/fish/completions/anneal.fish',
      ),
    )
    .action(async (shell) => {
      output.line((await tabtab.getCompletionScript({ name: 'anneal', completer: 'anneal', shell })).trimEnd());
    });
  program
    .command('completion-server', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async () => {
      const env = tabtab.parseEnv(context.environment);
      if (!env.complete) return;
      const words = env.partial.split(/\s+/);
      const found = await completionsFor({
        tree: commandTree(program),
        words: words.slice(1, -1),
        last: env.lastPartial,
        names: (noun) => namesFor(noun, context),
      });
      const shell = tabtab.getShellFromEnv(context.environment);
      if (found === 'files') output.line('__tabtab_complete_files__');
      else tabtab.log([...found], shell, (line) => output.line(line));
    });
}
