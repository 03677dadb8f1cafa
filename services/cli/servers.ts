/**
 * The servers that a user has logged in to: `anneal/servers.json` in `$XDG_CONFIG_HOME` (`~/.config`). It holds an
 * application credential for each, never a password, and only its owner can read it.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, jsonIn } from '@anneal/contracts/plain-json.ts';

/** A server, and the means to log in to it. */
export interface KnownServer {
  readonly auth_url: string;
  readonly user: string;
  readonly project: string;
  readonly application_credential: { readonly id: string; readonly secret: string };
}

/** All servers of a user by their names. */
export interface KnownServers {
  /** The server that commands use; null for none. */
  readonly current: string | null;
  readonly servers: Readonly<Record<string, KnownServer>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined for a user without a home. */
export function serversFile(environment: Environment): string | undefined {
  const home = environment['HOME'];
  const folder = environment['XDG_CONFIG_HOME'] || (home ? join(home, '.config') : undefined);
  return folder === undefined ? undefined : join(folder, 'anneal', 'servers.json');
}

/** Empty without a file. @throws AnnealError for a file that cannot be used */
export async function readServers(file: string | undefined): Promise<KnownServers> {
  if (file === undefined) return { current: null, servers: {} };
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { current: null, servers: {} };
    throw new AnnealError('InvalidRequest', `Cannot read ${file}: ${String(code ?? error)}.`, { cause: error });
  }
  const list = listIn(text);
  if (list) return list;
  throw new AnnealError('InvalidRequest', `${file} is not a list of servers; fix or remove it.`);
}

/** Undefined for a text of another form. Without a schema, because completion must start without zod. */
function listIn(text: string): KnownServers | undefined {
  const list = jsonIn(text);
  if (!isObject(list) || !(list['current'] === null || typeof list['current'] === 'string')) return undefined;
  const { servers } = list;
  return isObject(servers) && Object.values(servers).every(isServer) ? (list as unknown as KnownServers) : undefined;
}

const hasTexts = (value: unknown, ...names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof value[name] === 'string');
const isServer = (value: unknown): boolean =>
  isObject(value) &&
  hasTexts(value, 'user', 'project') &&
  typeof value['auth_url'] === 'string' &&
  URL.canParse(value['auth_url']) &&
  hasTexts(value['application_credential'], 'id', 'secret');

/** Replaces the file at once, so that a reader never sees half of it. */
export async function writeServers(file: string, servers: KnownServers): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  const handle = await open(beside, 'w', 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(`${JSON.stringify(servers, null, 2)}\n`);
  } finally {
    await handle.close();
  }
  await rename(beside, file);
}

/** @throws AnnealError that names the known servers */
export function serverNamed({ servers }: KnownServers, name: string): KnownServer {
  const found = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (found) return found;
  const names = Object.keys(servers).join(', ') || 'none';
  throw new AnnealError('InvalidRequest', `There is no server ${name}. The known servers: ${names}.`, {
    details: { remedy: `Log in to it: anneal login <url> --name ${name}` },
  });
}
