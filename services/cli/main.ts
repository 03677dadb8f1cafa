/**
 * The `anneal` command. Loads only what the command line needs: shells run completion at a key press, so it loads no
 * command.
 */
import { version } from './version.ts';

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) process.stdout.write(`${version}\n`);
else if (words[0] === 'completion-server') {
  const { printCompletions } = await import('./print-completion.ts');
  await printCompletions(words.slice(1), (text) => void process.stdout.write(text));
} else {
  const { start } = await import('./start.ts');
  process.exitCode = await start(words);
}
