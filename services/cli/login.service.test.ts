import { mkdtemp, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLogin } from './login.ts';
import { readServers, serversFile, writeServers } from './servers.ts';
import { takeServer } from './server-option.ts';
import { prepareCredentials } from './serve/credentials.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-login-'));
});
afterEach(() => rm(folder, { recursive: true }));

const url = 'http://127.0.0.1:9';
const own = { dataDirectory: '', url, password: 'kept' };

describe('findLogin', () => {
  it('takes the OS_* variables before any file', async () => {
    await mkdir(join(folder, '.anneal'));
    await prepareCredentials({ ...own, dataDirectory: join(folder, '.anneal') });
    const environment = { OS_AUTH_URL: 'http://x/v3', OS_USERNAME: 'u', OS_PASSWORD: 'p', OS_PROJECT_NAME: 'q' };
    expect(await findLogin({ environment, cwd: folder })).toMatchObject({
      authUrl: 'http://x/v3',
      username: 'u',
      project: 'q',
    });
    expect(await findLogin({ environment: { ...environment, OS_TOKEN: 't' }, cwd: folder })).toEqual({
      authUrl: 'http://x/v3',
      token: 't',
    });
  });

  it('names every variable that is missing', async () => {
    const found = findLogin({ environment: { OS_AUTH_URL: 'http://x' }, cwd: folder });
    await expect(found).rejects.toMatchObject({ mistakes: [{ path: 'OS_USERNAME' }, { path: 'OS_PASSWORD' }] });
  });

  it('finds the credentials in a parent folder', async () => {
    await mkdir(join(folder, 'a', 'b'), { recursive: true });
    await mkdir(join(folder, '.anneal'));
    await prepareCredentials({ ...own, dataDirectory: join(folder, '.anneal') });
    const login = await findLogin({ environment: {}, cwd: join(folder, 'a', 'b') });
    expect(login).toEqual({ authUrl: `${url}/identity/v3`, username: 'admin', password: 'kept', project: 'admin' });
  });

  it('searches only ANNEAL_DATA when that is set', async () => {
    const found = findLogin({ environment: { ANNEAL_DATA: 'elsewhere' }, cwd: folder });
    await expect(found).rejects.toThrow(join(folder, 'elsewhere'));
  });

  it('refuses a file that is not a credentials file, and names it', async () => {
    await mkdir(join(folder, '.anneal'));
    await writeFile(join(folder, '.anneal', 'credentials.json'), '{"password":');
    await expect(findLogin({ environment: {}, cwd: folder })).rejects.toThrow(/credentials\.json is not/);
  });
});

describe('prepareCredentials', () => {
  it('keeps the password when the address changes', async () => {
    const first = await prepareCredentials({ dataDirectory: folder, url, password: undefined });
    const second = await prepareCredentials({ dataDirectory: folder, url: 'http://127.0.0.1:10', password: undefined });
    expect(first.password.length).toBeGreaterThanOrEqual(24);
    expect(second).toEqual({ ...first, auth_url: 'http://127.0.0.1:10/identity/v3' });
  });
});

describe('the servers that a user has logged in to', () => {
  const known = (name: string) => ({
    auth_url: `http://${name}/identity/v3`,
    user: 'ann',
    project: 'web',
    application_credential: { id: `id of ${name}`, secret: 's' },
  });
  const environment = () => ({ XDG_CONFIG_HOME: folder });
  const file = (): string => serversFile(environment()) ?? '';
  beforeEach(() => writeServers(file(), { current: 'a', servers: { a: known('a'), b: known('b') } }));

  it('are in a file that only the owner can read', async () => {
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readServers(file())).toMatchObject({ current: 'a', servers: { b: { project: 'web' } } });
    await writeFile(file(), '{"servers":');
    await expect(readServers(file())).rejects.toThrow(/is not a list of servers/);
  });

  it('are used when nothing nearer names a server, the current one first', async () => {
    const login = await findLogin({ environment: environment(), cwd: folder });
    expect(login).toEqual({ authUrl: 'http://a/identity/v3', applicationCredential: { id: 'id of a', secret: 's' } });
    const variables = { ...environment(), OS_AUTH_URL: 'http://x', OS_TOKEN: 't' };
    expect(await findLogin({ environment: variables, cwd: folder })).toEqual({ authUrl: 'http://x', token: 't' });
    await mkdir(join(folder, '.anneal'));
    await prepareCredentials({ ...own, dataDirectory: join(folder, '.anneal') });
    expect(await findLogin({ environment: environment(), cwd: folder })).toMatchObject({ username: 'admin' });
  });

  it('are chosen by --server before anything else; an unknown one is refused with the known ones', async () => {
    const variables = { ...environment(), OS_AUTH_URL: 'http://x', OS_TOKEN: 't' };
    expect(await findLogin({ environment: variables, cwd: folder, server: 'b' })).toMatchObject({
      authUrl: 'http://b/identity/v3',
    });
    const unknown = findLogin({ environment: environment(), cwd: folder, server: 'c' });
    await expect(unknown).rejects.toThrow('There is no server c. The known servers: a, b.');
  });

  it('are named anywhere in a command line', () => {
    expect(takeServer(['--server', 'b', 'stack', 'list'])).toEqual({ words: ['stack', 'list'], server: 'b' });
    expect(takeServer(['stack', 'list', '--server=b'])).toEqual({ words: ['stack', 'list'], server: 'b' });
    expect(takeServer(['stack', 'list'])).toEqual({ words: ['stack', 'list'], server: undefined });
    expect(takeServer(['stack', '--server'])).toEqual({ words: ['stack'], server: '' });
  });
});
