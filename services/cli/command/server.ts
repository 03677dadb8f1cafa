/** `anneal login` and `anneal server …`: the servers that this user works with. */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from '@commander-js/extra-typings';
import type { Login } from '@anneal/client/connection.ts';
import type { IdentityCalls } from '@anneal/client/identity.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { CliContext } from '../context.ts';
import { readServers, serverNamed, serversFile, writeServers, type KnownServer } from '../servers.ts';
import { exampleText, formatOption, readSecret } from '../options/options.ts';

export function addServerCommands(program: Command, context: CliContext): void {
  addLogin(program, context);
  const noun = program.command('server').description('choose the server that commands use');
  addList(noun, context);
  addUse(noun, context);
  addRemove(noun, context);
}

function addLogin(program: Command, context: CliContext): void {
  const { output, environment } = context;
  program
    .command('login')
    .argument('<url>', 'address of the server, e.g. https://anneal.example')
    .description('log in to a server and use it from now on; stores an application credential, not the password')
    .option('--name <name>', 'name of the server (default: the host in its address)')
    .option('--username <user>', 'user', 'admin')
    .option('--project <project>', 'project (default: admin; with --oidc, your default project)')
    .option('--password-file <file>', 'file that holds the password (default: ask for it)')
    .option('--oidc', 'log in by the OpenID provider of the server, in any browser')
    .addHelpText(
      'after',
      exampleText(
        'login https://anneal.example --username ann --project web',
        'login https://anneal.example --oidc',
        'login http://10.0.0.5:8470 --name lab',
      ),
    )
    .action(async (url, { name, username, project, passwordFile, oidc }) => {
      const file = fileOf(context);
      const authUrl = authUrlOf(url);
      const known = await readServers(file);
      const proven = oidc
        ? await confirmed(context, { authUrl, project })
        : await byPassword(context, { authUrl, username, project: project ?? 'admin', passwordFile });
      const { connectTo } = await import('@anneal/client/parts.ts');
      const { identity } = await connectTo(proven.login, ['identity'], { signal: context.interrupt });
      const label = `anneal ${environment['USER'] ?? ''}@${hostname()} ${new Date(context.now()).toISOString()}`;
      const { id, secret } = await identity.tokens.create({ name: label });
      const server: KnownServer = {
        auth_url: authUrl,
        user: proven.user,
        project: proven.project,
        application_credential: { id, secret },
      };
      const named = name ?? new URL(authUrl).host;
      const old = known.servers[named];
      if (old?.auth_url === authUrl && old.user === proven.user) {
        await revokeOld(identity, old.application_credential.id);
      }
      await writeServers(file, { current: named, servers: { ...known.servers, [named]: server } });
      output.line(`Logged in to ${named} as ${proven.user} in the project ${proven.project}.`);
      output.note(`The application credential is in ${file}. To log out: anneal server remove ${named}`);
    });
}

/** A login that the server accepts, and the names of its user and project. */
interface Proven {
  readonly login: Login;
  readonly user: string;
  readonly project: string;
}

async function byPassword(
  context: CliContext,
  wanted: { authUrl: string; username: string; project: string; passwordFile: string | undefined },
): Promise<Proven> {
  const { authUrl, username, project, passwordFile } = wanted;
  const password =
    passwordFile === undefined ? await askPassword(context, username) : await readSecret(passwordFile, context.cwd);
  return { login: { authUrl, username, password, project }, user: username, project };
}

/** Waits until the user has confirmed the login at the OpenID provider. */
async function confirmed(
  { output, interrupt }: CliContext,
  { authUrl, project }: { authUrl: string; project: string | undefined },
): Promise<Proven> {
  const { deviceLogin } = await import('@anneal/client/device-login.ts');
  const login = await deviceLogin({
    authUrl,
    project,
    show: ({ address, code }) => output.note(`Open ${address} in a browser and confirm the code ${code}.`),
    wait: (ms) => delay(ms, undefined, { signal: interrupt }),
    signal: interrupt,
  });
  return { login: { authUrl, token: login.token }, user: login.user, project: login.project };
}

function addList(noun: Command, context: CliContext): void {
  const { output } = context;
  noun
    .command('list')
    .description('list the servers that you have logged in to')
    .addOption(formatOption())
    .addHelpText('after', exampleText('server list'))
    .action(async ({ output: format }) => {
      const { current, servers } = await readServers(serversFile(context.environment));
      // Without the secrets.
      const rows = Object.entries(servers).map(([name, { auth_url, user, project }]) => ({
        name,
        current: name === current,
        user,
        project,
        auth_url,
      }));
      output.list(format, {
        rows,
        none: 'No servers. Log in to one with: anneal login <url>',
        columns: {
          name: (row) => row.name,
          current: (row) => row.current,
          user: (row) => row.user,
          project: (row) => row.project,
          url: (row) => row.auth_url,
        },
      });
    });
}

function addUse(noun: Command, context: CliContext): void {
  noun
    .command('use <server>')
    .description('use this server from now on')
    .addHelpText('after', exampleText('server use lab'))
    .action(async (name) => {
      const file = fileOf(context);
      const known = await readServers(file);
      const { auth_url: url } = serverNamed(known, name);
      await writeServers(file, { ...known, current: name });
      context.output.line(`Commands use ${name} (${url}).`);
    });
}

function addRemove(noun: Command, context: CliContext): void {
  const { output, cwd } = context;
  noun
    .command('remove <server>')
    .description('forget a server, and revoke its application credential, which needs a login')
    .option('--password-file <file>', 'file that holds the password (default: ask for it on a terminal)')
    .option('--oidc', 'log in by the OpenID provider of the server')
    .addHelpText('after', exampleText('server remove lab', 'server remove lab --password-file ~/password.txt'))
    .action(async (name, { passwordFile, oidc }) => {
      const file = fileOf(context);
      const known = await readServers(file);
      const {
        auth_url: authUrl,
        user: username,
        project,
        application_credential: credential,
      } = serverNamed(known, name);
      // An application credential may not manage application credentials, itself among them.
      const password = oidc
        ? undefined
        : passwordFile === undefined
          ? await context.askSecret?.(`Password of ${username}, or Enter to leave the credential valid: `)
          : await readSecret(passwordFile, cwd);
      const login = oidc
        ? (await confirmed(context, { authUrl, project })).login
        : password && { authUrl, username, password, project };
      if (login) {
        const { connectTo } = await import('@anneal/client/parts.ts');
        await revokeOld((await connectTo(login, ['identity'])).identity, credential.id);
      }
      const { [name]: _, ...servers } = known.servers;
      await writeServers(file, { current: known.current === name ? null : known.current, servers });
      output.line(`Removed ${name}.`);
      if (!login)
        output.note(
          `Its application credential ${credential.id} is still valid. To end it: anneal token revoke ${credential.id}`,
        );
    });
}

/** Revokes a credential, which may be gone already. */
async function revokeOld({ tokens }: IdentityCalls, id: string): Promise<void> {
  await tokens.revoke(id).catch(ignoreNotFound);
}

/** @throws AnnealError */
function fileOf({ environment }: CliContext): string {
  const file = serversFile(environment);
  if (file !== undefined) return file;
  throw new AnnealError('InvalidRequest', 'There is no place for the list of servers: set HOME or XDG_CONFIG_HOME.');
}

/** The identity API of a server. @throws AnnealError for a text that is no address */
function authUrlOf(text: string): string {
  const url = readWebAddress(text);
  if (!url) {
    throw new AnnealError('InvalidRequest', `${text} is not an address such as https://anneal.example.`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith('/v3') ? path : `${path}/identity/v3`}`;
}

async function askPassword({ askSecret }: CliContext, user: string): Promise<string> {
  if (!askSecret) {
    throw new AnnealError('InvalidRequest', 'A password is asked for on a terminal only: give --password-file.');
  }
  const password = await askSecret(`Password of ${user}: `);
  if (password) return password;
  throw new AnnealError('InvalidRequest', 'No password was given.');
}
