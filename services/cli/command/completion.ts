/** `anneal completion <shell>` */
import { Argument, type Command } from '@commander-js/extra-typings';
import { completionScript, shells } from '../completion/script.ts';
import type { CliContext } from '../context.ts';
import { exampleText } from '../options/example.ts';

export function addCompletionCommands(program: Command, context: CliContext): void {
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
    .action((shell) => context.output.line(completionScript(shell)));
}
