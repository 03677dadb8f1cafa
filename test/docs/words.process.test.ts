/**
 * Finds words and forms that readers stumble over (CONTRIBUTING, "How we write"), in comments, messages, names, tests and docs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Words to avoid, with their replacements. */
const wordList: readonly { avoid: RegExp; instead: string }[] = [
  { avoid: /\btold\b/gi, instead: 'reported, notified, sent, answered' },
  { avoid: /\banew\b/gi, instead: 'again, recreate' },
  { avoid: /\bmend(?:s|ed|ing)?\b/gi, instead: 'fix, repair, correct' },
  {
    avoid: /\b(?:nobody|somebody|whoever|whomever)\b/gi,
    instead: 'the actor: operator, provider, replica, client, engine',
  },
  { avoid: /\bstands? for\b/gi, instead: 'represents' },
  { avoid: /\bmade good\b/gi, instead: 'completed on recovery' },
  { avoid: /\b(?:is|are|was|were|not) to be had\b/gi, instead: 'available' },
  { avoid: /\b(?:is|are|was|were|be) taken for\b/gi, instead: 'counts as, is treated as' },
  {
    avoid: /^\s*(?:\/\*\*|\/\/|\*) (?:What|Who|Of|One that|Those that) .*$/gm,
    instead: 'a noun phrase or an imperative first',
  },
];

const root = join(import.meta.dirname, '..', '..');
const isText = (file: string): boolean =>
  /\.(?:ts|mjs|md|sh|py)$/.test(file) &&
  !/^(?:CONTRIBUTING|test\/docs\/words|libs\/contracts\/schemas|libs\/hot\/testdata)/.test(file);

/** Each place as `line: text (instead)`, by file; files without a place are absent. */
function findWords(): Map<string, string[]> {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const found = new Map<string, string[]>();
  for (const file of files.trim().split('\n').filter(isText)) {
    if (!existsSync(join(root, file))) continue;
    const text = readFileSync(join(root, file), 'utf8');
    const places = wordList.flatMap(({ avoid, instead }) =>
      [...text.matchAll(avoid)].map(
        ({ 0: words, index }) =>
          `${text.slice(0, index).split('\n').length}: ${words.trim().slice(0, 60)} (better: ${instead})`,
      ),
    );
    if (places.length > 0) found.set(file, places);
  }
  return found;
}

it('no text of the project uses a word of the list in CONTRIBUTING', () => {
  expect(Object.fromEntries(findWords())).toEqual({});
});
