import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Counts the modules that a command loads, because a machine under load cannot measure its start. */
const counter = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (url.startsWith('node:') || loaded.push(url), next(url, context)) });
  process.on('exit', () => process.stderr.write(JSON.stringify(loaded)));
`)}`;
const main = new URL('./main.ts', import.meta.url).pathname;

async function modulesOf(words: readonly string[], environment: Record<string, string> = {}): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', counter, main, ...words], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  return JSON.parse(stderr) as string[];
}
const ours = (modules: readonly string[]): string[] => modules.filter((url) => !url.includes('/node_modules/'));

/** Each test starts a process. */
describe('the modules that a command loads', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.setHeader('content-type', 'application/json').setHeader('x-subject-token', 'token');
      const endpoints = [{ interface: 'public', url: `${url}/heat` }];
      const token = {
        user: { id: 'u', name: 'u' },
        project: { id: 'p', name: 'p' },
        catalog: ['orchestration', 'baremetal'].map((type) => ({ type, endpoints })),
      };
      response.end(JSON.stringify(request.method === 'POST' ? { token } : { stacks: [], nodes: [] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  it('--version loads the entry only', async () => {
    expect(await modulesOf(['--version'])).toHaveLength(2);
  });

  it('--help and a wrong command load no commands, and neither the contracts nor the client', async () => {
    const modules = await modulesOf(['--help']);
    expect(ours(modules).filter((one) => /\/(libs|command\/(?!example))/.test(one))).toEqual([]);
    expect(modules.length).toBeLessThanOrEqual(30);
  });

  it('completion of commands and options loads no commands and no package', async () => {
    const modules = await modulesOf(['completion-server', 'bash', '--', 'stack', 'create', 'web', '--']);
    expect(modules).toEqual(ours(modules));
    expect(modules.length).toBeLessThanOrEqual(8);
  });

  it('completion of names loads neither zod nor a part of the client, and no commands', async () => {
    const modules = await modulesOf(['completion-server', 'bash', '--', 'stack', 'show', 'w'], {
      OS_AUTH_URL: `${url}/identity/v3`,
      OS_USERNAME: 'u',
      OS_PASSWORD: 'p',
    });
    expect(modules.filter((one) => one.endsWith('/completion/names.ts'))).toHaveLength(1);
    const unwanted = /\/zod\/|client\/(stacks|representation|failure)|\/cli\/(command|run|program)/;
    expect(modules.filter((one) => unwanted.test(one))).toEqual([]);
  });

  it('stack list loads one noun, and of the client the stacks', async () => {
    const modules = await modulesOf(['stack', 'list'], {
      OS_AUTH_URL: `${url}/identity/v3`,
      OS_USERNAME: 'u',
      OS_PASSWORD: 'p',
    });
    expect(ours(modules).length).toBeLessThanOrEqual(62);
    const unwanted = /progress\/|\/calls\/(configuration|provisioning|notification)|libs\/(hot|python|runtime)/;
    expect(modules.filter((one) => unwanted.test(one))).toEqual([]);
  });

  it('node list loads the contract of no call', async () => {
    const modules = await modulesOf(['node', 'list'], {
      OS_AUTH_URL: `${url}/identity/v3`,
      OS_USERNAME: 'u',
      OS_PASSWORD: 'p',
    });
    expect(modules.filter((one) => one.endsWith('/libs/client/nodes.ts'))).toHaveLength(1);
    expect(modules.filter((one) => /contracts\/calls\/|\/node_modules\/yaml\//.test(one))).toEqual([]);
  });
});
