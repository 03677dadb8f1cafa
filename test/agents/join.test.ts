/** Joins machines by the line that `anneal host join` prints, against a real server, and runs configs on them. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import {
  createServer as createPlainServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildExecutable, thisMachine, writeChecksums } from '@anneal/agent/executable/executable.ts';
import { openConfigurationCollections } from '@anneal/configuration/collections.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { change } from '@anneal/store/change.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomOf } from '../chaos/random.ts';
import { makeCertificates, type Certificates } from '../backends/certificates.ts';
import { bundle, deleted, settled, startServer, type TestServer } from '../e2e/server.ts';

let server: TestServer;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'anneal-join-'));
  const agents = join(directory, 'agents');
  await buildExecutable({ machine: thisMachine() ?? 'amd64', folder: agents });
  await writeChecksums(agents);
  server = await startServer({
    lab: 0,
    env: { ANNEAL_GATEWAY_AGENTS: agents, ANNEAL_GATEWAY_TRUSTED_PROXIES: '127.0.0.1' },
  });
});
afterAll(async () => {
  for (const name of ['one', 'two', 'three', 'four', 'five', 'six', 'seven'])
    onMachine(name, `"${agentOf(name)}" uninstall`);
  await server?.dispose();
  rmSync(directory, { recursive: true, force: true });
});

const prefixOf = (name: string): string => join(directory, name);
const agentOf = (name: string): string => join(prefixOf(name), 'bin', 'anneal-agent');

const machineOptions = (name: string) => ({
  encoding: 'utf8' as const,
  env: { PATH: process.env['PATH'] ?? '', HOME: directory, ANNEAL_PREFIX: prefixOf(name) },
  timeout: 120_000,
});
/** Runs a command as the user of a machine without systemd, OpenRC and cron. */
const onMachine = (name: string, command: string) => spawnSync('sh', ['-c', command], machineOptions(name));
/** The same, while this process serves what the command asks for. Resolves to its standard error. */
const errorsOnMachine = (name: string, command: string): Promise<string> =>
  new Promise((resolve) => {
    execFile('sh', ['-c', command], machineOptions(name), (_error, _stdout, stderr) => resolve(stderr));
  });
const lineFor = async (host: string, ...words: string[]): Promise<string> =>
  (await server.anneal('host', 'join', host, ...words)).stdout.trim();
const status = (name: string): string => onMachine(name, `"${agentOf(name)}" status`).stdout.trim();

/** The command lines of curl and wget that a machine runs. */
function callsOf(name: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const program = words[0]?.split('/').at(-1) ?? '';
      const line = words.join(' ');
      return ['curl', 'wget'].includes(program) && line.includes(`${prefixOf(name)}/`) ? [line] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

const template = (host: string, text: string, before: string): string => `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Heat::DeployedServer, properties: {name: '${host}'}}
  config:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      script: |
        #!/bin/sh
        ${before}
        echo ${text}
outputs:
  said: {value: {get_attr: [config, deploy_stdout]}}
  host: {value: {get_resource: host}}
`;

async function applied(stack: string, host: string, before = ':'): Promise<Record<string, unknown>> {
  await server.client.stacks.create({ name: stack, bundle: bundle(template(host, `on ${stack}`, before)) });
  const { outputs } = await settled(server, stack);
  return Object.fromEntries((outputs ?? []).map((each) => [each.output_key, each.output_value]));
}

/** A proxy with TLS in front of the server, as operators have one. */
async function tlsProxy(certificates: Certificates): Promise<Server> {
  const [key, cert] = [readFileSync(certificates.server.key), readFileSync(certificates.server.cert)];
  const proxy = createTlsServer({ key, cert }, (request, response) => forward(request, response, { proto: 'https' }));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { proto, loses = false }: { proto: string; loses?: boolean },
): void {
  const headers = { ...request.headers, 'x-forwarded-proto': proto, 'x-forwarded-host': request.headers.host };
  const forwarded = httpRequest(`${server.url}${request.url}`, { method: request.method, headers }, (answer) => {
    if (loses) return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  forwarded.on('error', () => response.destroy());
  request.pipe(forwarded);
}

describe('the line of `anneal host join`', () => {
  it('makes a machine a host that a template uses, renews it, and is undone', async () => {
    const line = await lineFor('web');
    expect(line).toMatch(/^curl -fsS http:\/\/127\.0\.0\.1:\d+\/join\/[A-Za-z0-9_-]{32} \| sh$/);
    const joined = onMachine('one', line);
    expect(joined).toMatchObject({ status: 0, stderr: '' });
    expect(joined.stdout).toContain('joined as host web: its agent runs in the background');
    expect(statSync(join(prefixOf('one'), 'lib/anneal-agent/conf')).mode & 0o777).toBe(0o600);
    const [host] = await server.client.hosts.list();
    await eventually(
      async () => ((await server.client.hosts.show({ host: 'web' })).status === 'up' ? true : undefined),
      {
        what: 'the first contact of the host',
      },
    );
    expect(await applied('first', 'web')).toEqual({ said: 'on first\n', host: host?.id });
    await expect(server.client.hosts.delete({ host: 'web' })).rejects.toThrow(/belongs to a stack/);
    await server.client.stacks.delete({ stack: 'first' });
    await deleted(server, 'first');

    // The same line repeats its own exchange, another machine is refused, and a new line renews the token.
    const agent = status('one');
    expect(agent).toMatch(/^runs, process \d+$/);
    expect(onMachine('one', line)).toMatchObject({ status: 0 });
    const stranger = onMachine('two', line);
    expect(stranger.status).not.toBe(0);
    expect(stranger.stderr).toContain('Another machine used this line to join as web');
    expect(readdirSync(join(prefixOf('two'), 'lib'))).toEqual([]);
    expect(onMachine('one', await lineFor('web'))).toMatchObject({ status: 0, stderr: '' });
    expect(status('one')).toBe(agent);
    expect((await server.client.hosts.list()).map(({ id }) => id)).toEqual([host?.id]);
    expect(await applied('second', 'web')).toEqual({ said: 'on second\n', host: host?.id });
    await server.client.stacks.delete({ stack: 'second' });
    await deleted(server, 'second');

    const undone = onMachine('one', `${await lineFor('web')} -s -- --undo`);
    expect(undone).toMatchObject({ status: 0 });
    expect(existsSync(agentOf('one'))).toBe(false);
    expect(existsSync(join(prefixOf('one'), 'lib/anneal-agent'))).toBe(false);
    await server.anneal('host', 'delete', 'web');
    expect(await server.client.hosts.list()).toEqual([]);
  });

  it('installs the agent that is one file, which updates itself in a config and leaves no file', async () => {
    const line = await lineFor('full', '--agent', 'full');
    expect(line).toMatch(/ \| sh -s -- --agent full$/);
    const joined = onMachine('three', line);
    expect(joined).toMatchObject({ status: 0, stderr: '' });
    const program = `${agentOf('three')}-full`;
    const installed = statSync(program).ino;
    const running = status('three');
    const update = '"$ANNEAL_AGENT" update';
    expect(await applied('updating', 'full', update)).toMatchObject({ said: 'on updating\n' });
    expect(statSync(program).ino).not.toBe(installed);
    await eventually(() => (status('three').startsWith('runs') && status('three') !== running ? true : undefined), {
      what: 'the new version of the agent',
    });
    await server.client.stacks.delete({ stack: 'updating' });
    await deleted(server, 'updating');
    expect(await applied('updated', 'full')).toMatchObject({ said: 'on updated\n' });
    expect(onMachine('three', await lineFor('full')).status).toBe(0);
    expect(existsSync(program)).toBe(true);
    expect(onMachine('three', `"${agentOf('three')}" uninstall`)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(prefixOf('three'), 'bin'))).toEqual([]);
  });

  it('leaves no call that takes a request after the agent was stopped', async () => {
    expect(onMachine('seven', await lineFor('stopped'))).toMatchObject({ status: 0, stderr: '' });
    // It leads a process group, or another program started it in its own.
    for (const start of ['start', 'run </dev/null >/dev/null 2>&1 &']) {
      expect(onMachine('seven', `"${agentOf('seven')}" ${start}`).status).toBe(0);
      await eventually(() => (callsOf('seven').some((words) => words.includes('next?wait=45')) ? true : undefined), {
        what: 'the waiting call of the agent',
        last: () => callsOf('seven'),
      });
      expect(onMachine('seven', `"${agentOf('seven')}" stop`).status).toBe(0);
      expect(status('seven')).toBe('does not run');
      // The call would wait for 45 s.
      await eventually(() => (callsOf('seven').length === 0 ? true : undefined), {
        what: 'the end of the call',
        last: () => callsOf('seven'),
      });
    }
    expect(onMachine('seven', `"${agentOf('seven')}" uninstall`).status).toBe(0);
    // As another machine of the same name, with an identity of its own, it waits for no claim of the earlier agent.
    expect(onMachine('seven', await lineFor('stopped'))).toMatchObject({ status: 0, stderr: '' });
    expect(await applied('at-once', 'stopped')).toMatchObject({ said: 'on at-once\n' });
    // Another process that the agent started still writes into its folder for a moment.
    const folder = join(prefixOf('seven'), 'lib/anneal-agent');
    const writes = `end=$(($(date +%s) + 2)); i=0; while [ $(date +%s) -lt $end ]; do i=$((i + 1)); echo >${folder}/$i; done`;
    const uninstalled = onMachine('seven', `{ ${writes}; } >/dev/null 2>&1 & "${agentOf('seven')}" uninstall`);
    expect(uninstalled).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(folder)).toBe(false);
    await server.client.stacks.delete({ stack: 'at-once' });
    await deleted(server, 'at-once');
    await server.anneal('host', 'delete', 'stopped');
  });

  it('changes its agent while configs wait and run, also when it is killed meanwhile, and runs each once', async () => {
    const seed = Number(process.env['ANNEAL_TEST_SEED'] ?? Date.now() % 1_000_000);
    process.stderr.write(`ANNEAL_TEST_SEED=${seed}\n`);
    const random = randomOf(seed);
    const log = join(directory, 'changes.log');
    const lines = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []);
    expect(onMachine('five', await lineFor('changing'))).toMatchObject({ status: 0, stderr: '' });
    const count = 8;
    const names = Array.from({ length: count }, (_, index) => `c${index}`);
    const configs = names.map(
      (name, index) => `  ${name}:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      ${index > 0 ? `depends_on: {get_resource: c${index - 1}}` : ''}
      script: "#!/bin/sh\\necho ${name} begins >>'${log}'\\nsleep 2\\necho ${name} ends >>'${log}'\\n"
`,
    );
    const host = `  host: {type: OS::Heat::DeployedServer, properties: {name: changing}}`;
    const text = `heat_template_version: 2016-10-14\nresources:\n${host}\n${configs.join('')}`;
    await server.client.stacks.create({ name: 'changing', bundle: bundle(text) });
    const kinds = ['full', 'sh', 'full', 'sh'];
    for (const [index, kind] of kinds.entries()) {
      await eventually(() => (lines().includes(`c${index * 2} begins`) ? true : undefined), {
        what: `the start of c${index * 2}`,
        last: lines,
      });
      const line = await lineFor('changing', '--agent', kind);
      const joining = spawn('sh', ['-c', line], { ...machineOptions('five'), stdio: 'ignore' });
      const joined = once(joining, 'exit');
      await sleep(random() * 3_000);
      const pid = Number(/process (\d+)/.exec(status('five'))?.[1]);
      if (pid > 1) process.kill(pid, 'SIGKILL');
      await joined;
      expect(onMachine('five', line).status).toBe(0);
      onMachine('five', `"${agentOf('five')}" start`);
    }
    const stack = await settled(server, 'changing', 120_000);
    expect(stack.stack_status, stack.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
    expect(lines()).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
    await eventually(() => (existsSync(`${agentOf('five')}-full`) ? undefined : true), {
      what: 'the end of the full agent',
    });
    expect((await server.client.hosts.show({ host: 'changing' })).unexpected_total).toBe(0);
  });

  it('joins through TLS with the certificate of a private CA, and refuses a server of another CA', async (test) => {
    const certificates = await makeCertificates({ client: 'unused' });
    if (!certificates) return test.skip('openssl is not installed');
    const proxy = await tlsProxy(certificates);
    try {
      const { port } = proxy.address() as AddressInfo;
      const secured = (line: string): string => line.replaceAll(server.url, `https://127.0.0.1:${port}`);
      const strange = secured(await lineFor('tls', '--cacert', certificates.strangeCa));
      expect(await errorsOnMachine('four', strange)).toMatch(/certificate/);
      expect(existsSync(agentOf('four'))).toBe(false);
      // The seed of a server that this process does not trust.
      await expect(server.client.hosts.seed({ url: `https://127.0.0.1:${port}/join/x` })).rejects.toMatchObject({
        message: expect.stringContaining('does not trust the certificate') as string,
        details: { remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string },
      });
      const line = secured(await lineFor('tls', '--cacert', certificates.ca));
      expect(await errorsOnMachine('four', line)).toBe('');
      expect(readFileSync(join(prefixOf('four'), 'lib/anneal-agent/conf'), 'utf8')).toContain('url=https://127.0.0.1');
      expect(await applied('over-tls', 'tls')).toMatchObject({ said: 'on over-tls\n' });
      expect(onMachine('four', `"${agentOf('four')}" uninstall`).status).toBe(0);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
      await certificates.remove();
    }
  });

  it('joins with the same line again when the answer to its exchange is lost', async () => {
    let lost = 0;
    const proxy = createPlainServer((request, response) => {
      const loses = request.url?.endsWith('/exchange') === true && lost === 0;
      if (loses) lost += 1;
      forward(request, response, { proto: 'http', loses });
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    try {
      const { port } = proxy.address() as AddressInfo;
      const line = (await lineFor('again')).replaceAll(server.url, `http://127.0.0.1:${port}`);
      expect(await errorsOnMachine('six', line)).toContain('cannot join: no answer from');
      expect([lost, existsSync(agentOf('six'))]).toEqual([1, false]);
      expect(await errorsOnMachine('six', line)).toBe('');
      expect(status('six')).toMatch(/^runs, process \d+$/);
      expect(onMachine('six', `"${agentOf('six')}" uninstall`).status).toBe(0);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
    await server.anneal('host', 'delete', 'again');
  });

  it('joins a host of 0.1.0 under any name, and refuses a new host of that name', async () => {
    const name = `it's a "host" $(id) \`id\` \\ é`;
    await expect(server.client.hosts.join({ host: name })).rejects.toMatchObject({ code: 'InvalidRequest' });
    const { host } = await server.client.hosts.join({ host: 'earlier' });
    await server.kill();
    const store = await openStore({ url: server.storeUrl });
    const { hosts } = await openConfigurationCollections(store);
    await change(hosts, host.id, ({ name_key: _key, ...current }) => ({ ...current, name }));
    await store.close();
    await server.start();
    const joined = onMachine('two', await lineFor(name));
    expect(joined).toMatchObject({ status: 0, stderr: '' });
    expect(joined.stdout).toContain(`joined as host ${name}:`);
    expect(readFileSync(join(prefixOf('two'), 'lib/anneal-agent/conf'), 'utf8')).toContain(`\nname=${name}\n`);
    await server.anneal('host', 'delete', name);
  });

  it('has the forms of cloud-init, user data, Ansible and a seed', async () => {
    expect(await lineFor('forms', '--format', 'cloud-init')).toMatch(
      /^#cloud-config\nruncmd:\n {2}- \[sh, -c, "curl -fsS http\S+ \| sh"\]$/,
    );
    expect(await lineFor('forms', '--format', 'user-data')).toMatch(/^#!\/bin\/sh\ncurl -fsS http\S+ \| sh$/);
    expect(await lineFor('forms', '--format', 'ansible')).toContain('    creates: /var/lib/anneal-agent/conf');
    const seed = JSON.parse(await lineFor('forms', '--format', 'seed')) as { hostname: string; token: string };
    expect(seed.hostname).toBe('forms');
    const claim = await fetch(`${server.url}/messaging/v1/queues/forms/claims`, {
      method: 'POST',
      headers: { 'x-auth-token': seed.token },
    });
    expect(claim.status).toBe(204);
  });
});
