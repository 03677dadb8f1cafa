/**
 * The operator's message for a failed start: one line with the remedy. A full disk, a folder that cannot be written or
 * a damaged file is no defect of the program and needs no stack trace.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';

const rows: Readonly<Record<string, { readonly says: (path: string) => string; readonly remedy: string }>> = {
  ENOSPC: {
    says: (path) => `The disk of ${path} is full.`,
    remedy: 'Free space on it and start again; no stored data is lost.',
  },
  EDQUOT: {
    says: (path) => `The disk quota of this user for ${path} is exhausted.`,
    remedy: 'Raise the quota or free space, then start again.',
  },
  EROFS: {
    says: (path) => `${path} is on a file system that is mounted read-only.`,
    remedy: 'Mount it writable, or set --data or ANNEAL_DATA to another folder.',
  },
  EACCES: {
    says: (path) => `This user has no permission to read and write ${path}.`,
    remedy: 'Make this user the owner of the folder and its files, or set --data or ANNEAL_DATA to another folder.',
  },
  ENOTDIR: {
    says: (path) => `${path} must be a folder, but it is a file.`,
    remedy: 'Set --data or ANNEAL_DATA to a folder.',
  },
  EISDIR: {
    says: (path) => `${path} must be a file, but it is a folder.`,
    remedy: 'Move it away, or set --data or ANNEAL_DATA to another folder.',
  },
  ENOENT: {
    says: (path) => `Cannot create ${path}: its parent folder does not exist.`,
    remedy: 'Create the parent folder, or set --data or ANNEAL_DATA to another folder.',
  },
  EMFILE: {
    says: () => 'This process reached its limit of open files.',
    remedy: 'Raise the limit of open files (ulimit -n) and start again.',
  },
  EIO: {
    says: (path) => `The disk of ${path} cannot be read or written.`,
    remedy: 'Check the system log for disk errors; then restore the folder from a backup.',
  },
  EADDRINUSE: {
    says: () => 'The address to listen on is in use by another process.',
    remedy: 'Stop that process, or choose another port.',
  },
  damaged: {
    says: (path) => `The file ${path} is damaged or is not an Anneal file.`,
    remedy: 'Restore the whole data folder from a backup. To start from scratch, use an empty folder.',
  },
};
const aliases: Readonly<Record<string, string>> = { EPERM: 'EACCES', EEXIST: 'ENOTDIR', ENFILE: 'EMFILE' };
/** Primary result codes of SQLite. */
const sqlite: Readonly<Record<number, string>> = {
  3: 'EACCES',
  8: 'EROFS',
  10: 'EIO',
  11: 'damaged',
  13: 'ENOSPC',
  14: 'EACCES',
  23: 'EACCES',
  26: 'damaged',
};

/**
 * Explains a system error to the operator; other errors come back unchanged, and so do those that say what to do.
 * `path` is for errors that name none.
 */
export function startFailure(error: unknown, path: string): unknown {
  if (error instanceof AnnealError && error.details?.['remedy'] !== undefined) return error;
  const found = systemErrorIn(error);
  if (!found) return error;
  const where = found.path ?? fileNamedIn(error) ?? path;
  const code = sharpened(found.code, where);
  const row = rows[code];
  if (!row) return error;
  const reason = found.message.split('\n', 1)[0] ?? '';
  return new AnnealError('Unavailable', `${row.says(where)} (${reason})`, {
    cause: error,
    details: { remedy: row.remedy },
  });
}

/** The text that a process prints when it cannot start. The stack trace follows only for a defect of the program. */
export function explainStart(error: unknown): string {
  const failure = toFailure(error);
  const given = failure.details?.['remedy'];
  const remedy = typeof given === 'string' ? given : failure.remedy;
  const stack = failure.code === 'Defect' && error instanceof Error ? `\n${error.stack}` : '';
  const between = failure.message.includes('\n') ? '\n' : ' ';
  return `${failure.message}${remedy === undefined ? '' : between + remedy}${stack}\n`;
}

interface SystemError {
  readonly code: string;
  readonly path: string | undefined;
  readonly message: string;
}

/** Searches the error and its causes. */
function systemErrorIn(error: unknown): SystemError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const { message } = at;
    const path = 'path' in at && typeof at.path === 'string' ? at.path : undefined;
    if ('errcode' in at && typeof at.errcode === 'number') {
      const code = sqlite[at.errcode & 0xff];
      if (code !== undefined) return { code, path, message };
    }
    if ('code' in at && typeof at.code === 'string' && !(at instanceof AnnealError)) {
      const code = aliases[at.code] ?? at.code;
      if (Object.hasOwn(rows, code)) return { code, path, message };
    }
  }
  return undefined;
}

/** Our own errors name the file of the database in their text. */
const fileNamedIn = (error: unknown): string | undefined =>
  error instanceof Error ? /^The (?:store|bus) (.+?) cannot be /.exec(error.message)?.[1] : undefined;

/** Replaces a code of the system or SQLite by a more precise one that the path itself shows. */
function sharpened(code: string, path: string): string {
  if (code !== 'ENOENT' && code !== 'EACCES' && code !== 'EROFS' && code !== 'ENOTDIR') return code;
  if (existsSync(path) && statSync(path).isDirectory() && code === 'EACCES' && /\.(?:db|json)$|\/keys$/.test(path))
    return 'EISDIR';
  let nearest = path;
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  try {
    if (nearest !== path && !statSync(nearest).isDirectory()) return 'ENOTDIR';
    accessSync(nearest, constants.R_OK | constants.W_OK);
    if (code === 'EROFS') accessSync(dirname(path), constants.W_OK);
    return code;
  } catch (error) {
    const { code: found = '' } = error as NodeJS.ErrnoException;
    return aliases[found] ?? (Object.hasOwn(rows, found) ? found : code);
  }
}
