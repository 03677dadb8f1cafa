/** The history of this clone, and the files that have changed since a commit of it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { changedFiles, RefusedRun, type TestedTree } from './choose.ts';

const git = (...words: string[]): string =>
  execFileSync('git', words, { encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] }).trim();

function gitOr(otherwise: string, ...words: string[]): string {
  try {
    return git(...words);
  } catch {
    return otherwise;
  }
}

/** The commit of this tree. Without a repository, it has no changes and no commit. */
export const testedTree = (): TestedTree => ({
  commit: gitOr('unknown', 'rev-parse', 'HEAD'),
  isChanged: gitOr('', 'status', '--porcelain') !== '',
});

/** Why this clone has no revision before the time in a file. Undefined when it has one. */
export function whyNoRevision(file: string): string | undefined {
  const time = readFileSync(file, 'utf8').trim();
  if (gitOr('', 'rev-list', '-1', `--before=${time}`, 'HEAD') !== '') return undefined;
  return `this clone has no revision before ${time}`;
}

/** Times that git understands. It reads any other text as the present time. */
const aTime = /^\d{4}-\d\d-\d\d|^\d+[ .](?:second|minute|hour|day|week|month|year)s?[ .]ago$/;

/** The commit of a revision, or the newest one that is at least as old as a time. @throws when this clone has not the revision */
export function commitBefore(revisionOrTime: string): { commit: string; note?: string } {
  const revision = gitOr('', 'rev-parse', '--verify', '--quiet', `${revisionOrTime}^{commit}`);
  if (revision !== '') return { commit: revision };
  if (!aTime.test(revisionOrTime)) {
    throw new RefusedRun(
      `This clone has no revision ${revisionOrTime}, and it is no time such as "12 hours ago" or 2026-01-31T12:00Z: ` +
        'run git fetch --unshallow, or choose another one.',
    );
  }
  const before = git('rev-list', '-1', `--before=${revisionOrTime}`, 'HEAD');
  if (before !== '') return { commit: before };
  const oldest = git('rev-list', 'HEAD').split('\n').at(-1) ?? '';
  return {
    commit: oldest,
    note: `The history of this clone begins later than ${revisionOrTime}; its oldest commit ${oldest.slice(0, 12)} is compared.`,
  };
}

/** The files whose content differs between a commit and the files of this tree. */
export function filesSince(commit: string): string[] {
  const known = changedFiles(git('diff', '--name-status', '-M100%', '-z', commit));
  const added = git('ls-files', '--others', '--exclude-standard', '-z').split('\0');
  return [...known, ...added.filter((file) => file !== '')];
}
