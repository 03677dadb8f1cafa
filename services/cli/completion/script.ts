/**
 * The scripts by which shells complete `anneal` and `npx anneal`. A script passes the words up to the cursor as they were
 * typed, and never evaluates them. It asks the `anneal` on the PATH, otherwise the one that npx finds in the folder.
 */
import { readFileSync } from 'node:fs';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type CompletedShell = (typeof shells)[number];

export const completionScript = (shell: CompletedShell): string =>
  readFileSync(new URL(`./anneal.${shell}`, import.meta.url), 'utf8').trimEnd();
