/**
 * Finds the server and the credentials: the one that `--server` names, else the OS_* variables that OpenStack's own
 * clients read, else the `credentials.json` that `anneal serve` wrote in `$ANNEAL_DATA`, or in `.anneal` in the working
 * folder or a folder above it, else the server of the last `anneal login` or `anneal server use`.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Login } from '@anneal/client/connection.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, jsonIn } from '@anneal/contracts/plain-json.ts';

const credentialFields = ['auth_url', 'username', 'password', 'project_name', 'project_id'] as const;
export type Credentials = Readonly<Record<(typeof credentialFields)[number], string>>;
export const credentialsFile = (dataDirectory: string): string => join(dataDirectory, 'credentials.json');

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws AnnealError that names the searched places, and what is missing there. */
export async function findLogin(parameters: {
  environment: Environment;
  cwd: string;
  /** The name of a server that the user has logged in to. */
  server?: string | undefined;
}): Promise<Login> {
  const { environment, cwd, server } = parameters;
  if (server !== undefined) return knownLogin(environment, server);
  if (environment['OS_AUTH_URL']) return loginOf(environment, environment['OS_AUTH_URL']);
  const folders = environment['ANNEAL_DATA'] ? [resolve(cwd, environment['ANNEAL_DATA'])] : dataFoldersAbove(cwd);
  for (const folder of folders) {
    const credentials = await readCredentials(folder);
    if (credentials) {
      const { auth_url: authUrl, username, password, project_name: project } = credentials;
      return { authUrl, username, password, project };
    }
  }
  const current = environment['ANNEAL_DATA'] ? undefined : await knownLogin(environment);
  if (current) return current;
  const place = environment['ANNEAL_DATA'] ? folders[0] : `.anneal in ${cwd} or in a parent folder`;
  throw new AnnealError(
    'InvalidRequest',
    `No server to connect to: OS_AUTH_URL is not set, and there is no credentials.json in ${place}. ` +
      'Start a server here with `npm start`, log in to one with `anneal login <url>`, or set OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME.',
  );
}

/** The login to a known server; without a name, to the current one, if any. */
async function knownLogin(environment: Environment, name: string): Promise<Login>;
async function knownLogin(environment: Environment): Promise<Login | undefined>;
async function knownLogin(environment: Environment, name?: string): Promise<Login | undefined> {
  const { readServers, serverNamed, serversFile } = await import('./servers.ts');
  const known = await readServers(serversFile(environment));
  const chosen = name ?? known.current;
  if (chosen === null) return undefined;
  const { auth_url: authUrl, application_credential: applicationCredential } = serverNamed(known, chosen);
  return { authUrl, applicationCredential };
}

/** The data folder of the server on this machine. @throws AnnealError that names the searched places */
export async function findDataFolder({ environment, cwd }: { environment: Environment; cwd: string }): Promise<string> {
  if (environment['ANNEAL_DATA']) return resolve(cwd, environment['ANNEAL_DATA']);
  for (const folder of dataFoldersAbove(cwd)) if (await readCredentials(folder)) return folder;
  throw new AnnealError(
    'InvalidRequest',
    `No data folder: ANNEAL_DATA is not set, and there is no .anneal in ${cwd} or in a parent folder.`,
    { details: { remedy: 'Name the data folder of the server with --data, on the machine of the server.' } },
  );
}

function loginOf(environment: Environment, authUrl: string): Login {
  const token = environment['OS_TOKEN'] ?? environment['OS_AUTH_TOKEN'];
  if (token) return { authUrl, token };
  const [id, secret] = [environment['OS_APPLICATION_CREDENTIAL_ID'], environment['OS_APPLICATION_CREDENTIAL_SECRET']];
  if (id && secret) return { authUrl, applicationCredential: { id, secret } };
  const wanted = { username: 'OS_USERNAME', password: 'OS_PASSWORD' } as const;
  const mistakes: Mistake[] = Object.values(wanted)
    .filter((name) => !environment[name])
    .map((name) => ({ code: 'MissingSetting', path: name, message: 'is not set, but OS_AUTH_URL is' }));
  if (mistakes.length > 0)
    throw new AnnealError('InvalidRequest', 'The OS_* environment variables are incomplete.', { mistakes });
  return {
    authUrl,
    username: environment[wanted.username] ?? '',
    password: environment[wanted.password] ?? '',
    project: environment['OS_PROJECT_NAME'] ?? 'admin',
    userDomain: environment['OS_USER_DOMAIN_ID'],
    projectDomain: environment['OS_PROJECT_DOMAIN_ID'],
  };
}

function dataFoldersAbove(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.push(join(folder, '.anneal'));
    if (dirname(folder) === folder) return folders;
  }
}

/** Undefined when the file is absent. @throws AnnealError for a file that cannot be used. */
export async function readCredentials(dataDirectory: string): Promise<Credentials | undefined> {
  const file = credentialsFile(dataDirectory);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new AnnealError('InvalidRequest', `Cannot read ${file}: ${String(code ?? error)}.`, { cause: error });
  }
  const credentials = credentialsIn(text);
  if (credentials) return credentials;
  throw new AnnealError('InvalidRequest', `${file} is not an Anneal credentials file; fix or remove it.`);
}

/** Undefined for a text of another form. Without a schema, because completion must start without zod. */
function credentialsIn(text: string): Credentials | undefined {
  const found = jsonIn(text);
  if (!isObject(found)) return undefined;
  const { auth_url: address } = found;
  const isWhole = credentialFields.every((field) => typeof found[field] === 'string');
  return isWhole && typeof address === 'string' && URL.canParse(address) ? (found as Credentials) : undefined;
}
