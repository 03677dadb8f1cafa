/** Users of an OpenID provider with the clients of OpenStack and with the command line. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clients, confirmDevice, startOpenIdProvider, type OpenIdProvider } from '../../backends/oidc-provider.ts';
import { repository } from '../../e2e/server.ts';
import { useOpenstackClients } from './clients.ts';

let provider: OpenIdProvider;
const cloud = useOpenstackClients({
  lab: 0,
  without: ['OS_USERNAME', 'OS_PASSWORD', 'OS_USER_DOMAIN_NAME'],
  settings: async () => {
    provider = await startOpenIdProvider();
    provider.accounts.set('ann', { preferred_username: 'ann.name', groups: ['web-team'] });
    return {
      ANNEAL_GATEWAY_OIDC_ISSUER: provider.issuer,
      ANNEAL_GATEWAY_OIDC_CLIENT_ID: 'anneal',
      ANNEAL_GATEWAY_OIDC_CLIENT_SECRET: clients.anneal,
      ANNEAL_GATEWAY_OIDC_SCOPES: 'openid profile groups',
      ANNEAL_GATEWAY_OIDC_NAME: 'company',
      ANNEAL_GATEWAY_OIDC_ROLES: 'web-team=member@admin',
    };
  },
});
afterAll(() => provider?.stop());

const federation = ['--os-identity-provider', 'company', '--os-protocol', 'openid'];
/** One word, because a token may begin with a hyphen. */
const withToken = (token: string): string[] => [
  '--os-auth-type',
  'v3oidcaccesstoken',
  ...federation,
  `--os-access-token=${token}`,
];
const owner = ['token', 'issue', '-c', 'user_id', '-f', 'value'];
let ann = '';
beforeAll(async () => {
  // The other logins have to find the user of this one.
  const token = await provider?.accessToken('anneal', 'ann');
  if (token === undefined) return;
  ann = await cloud.ok(...withToken(token), ...owner);
});

it('openstack logs in with an access token of the provider (v3oidcaccesstoken)', async () => {
  const token = await provider.accessToken('anneal', 'ann');
  const words = withToken(token);
  expect(await cloud.ok(...words, ...owner)).toBe(ann);
  expect(await cloud.ok(...words, 'stack', 'list', '-f', 'value')).toBe('');
  const other = await provider.accessToken('other', 'ann');
  const refused = await cloud.openstack(...withToken(other), ...owner);
  expect([refused.status, refused.stderr]).toMatchObject([1, expect.stringContaining('401')]);
});

it('openstack logs in with a code that the user confirms (v3oidcdeviceauthz)', async () => {
  const words = ['--os-client-id', 'anneal', '--os-client-secret', clients.anneal];
  const place = ['--os-discovery-endpoint', `${provider.issuer}/.well-known/openid-configuration`];
  const login = cloud.ok('--os-auth-type', 'v3oidcdeviceauthz', ...federation, ...words, ...place, ...owner);
  const shown = async (): Promise<string | undefined> => {
    const text = await readFile(join(cloud.directory, 'stderr'), 'utf8').catch(() => '');
    return /http:\S+user_code=\S+/.exec(text)?.[0];
  };
  const confirm = async () => confirmDevice(await eventually(shown, { what: 'the address of the login' }), 'ann');
  expect((await Promise.all([login, confirm()]))[0]).toContain(ann.trim());
});

it('the command line logs in by the provider and keeps an application credential', async () => {
  const env = { ...process.env, HOME: cloud.directory, XDG_CONFIG_HOME: cloud.directory, ANNEAL_DATA: undefined };
  const start = (...words: string[]) => {
    const child = spawn(process.execPath, [join(repository, 'services/cli/main.ts'), ...words], {
      env,
      cwd: cloud.directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
    return { ended, text: () => text };
  };
  const confirmed = async (...words: string[]): Promise<string> => {
    const command = start(...words);
    const address = () => /Open (http:\S+) in a browser/.exec(command.text())?.[1];
    await confirmDevice(await eventually(address, { what: 'the address of the login', last: command.text }), 'ann');
    expect([await command.ended, command.text()]).toMatchObject([0, expect.anything()]);
    return command.text();
  };
  const login = await confirmed('login', cloud.server.url, '--oidc', '--name', 'company');
  expect(login).toContain('Logged in to company as ann.name in the project admin.');
  const listed = start('stack', 'list');
  expect([await listed.ended, listed.text()]).toEqual([0, expect.stringContaining('No stacks')]);
  await confirmed('server', 'remove', 'company', '--oidc');
  const admin = ['--os-username', 'admin', '--os-password', cloud.password, '--os-user-domain-name', 'Default'];
  const tokens = await cloud.rows(...admin, 'application', 'credential', 'list', '--user', ann.trim());
  expect(tokens).toEqual([]);
});
