/** The metadata service, read by cloud-init from Debian and as programs do with curl. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installFromPypi } from '../../backends/pypi.ts';
import { logInOverHttp } from '../../e2e/log-in.ts';
import { bundle, startServer, type TestServer } from '../../e2e/server.ts';

const run = promisify(execFile);
const libraries = ['configobj', 'jinja2', 'requests', 'oauthlib', 'jsonpatch', 'jsonschema', 'pyyaml', 'netifaces'];

/** cloud-init is not on PyPI, so its package is unpacked beside the libraries that it needs. */
const python = await installFromPypi(libraries, async ({ directory }) => {
  const folder = join(directory, 'debian');
  await mkdir(folder);
  await run('apt-get', ['download', 'cloud-init'], { cwd: folder });
  const [file = ''] = await readdir(folder);
  await run('dpkg', ['-x', file, 'root'], { cwd: folder });
});
const missing = 'missing' in python ? python.missing : undefined;

const userData = '#cloud-config\npackage_update: false\n';
const template = `heat_template_version: 2018-08-31
resources:
${['one', 'two']
  .map(
    (name) => `  ${name}:
    type: OS::Nova::Server
    properties:
      name: ${name}
      image: debian-12
      flavor: baremetal
      metadata: {role: ${name}, public_keys: {me: ssh-ed25519 AAAA me}}
      user_data: |
        #cloud-config
        package_update: false
`,
  )
  .join('')}`;

describe.skipIf(missing !== undefined)(`cloud-init${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let server: TestServer;
  let folder: string;
  const urls: Record<string, string> = {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-cloud-init-'));
    server = await startServer({ lab: 2, env: { ANNEAL_GATEWAY_METADATA_NETWORKS: '127.0.0.0/8' } });
    await server.client.stacks.create({ name: 's', bundle: bundle(template) });
    await eventually(
      async () => {
        const { stack_status: status } = await server.client.stacks.show({ stack: 's' });
        return status === 'CREATE_COMPLETE' ? true : undefined;
      },
      { what: 'the stack', within: 120_000, last: () => server.output() },
    );
    for (const machine of ['machine-1', 'machine-2']) {
      const path = join(server.data, 'lab', 'machines', machine, 'disk', 'seed.json');
      const seed = JSON.parse(await readFile(path, 'utf8')) as { hostname: string; metadata_url: string };
      urls[seed.hostname] = seed.metadata_url;
    }
  });
  afterAll(async () => {
    await server?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const get = async (url: string, init: RequestInit = {}): Promise<{ status: number; text: string }> => {
    const answer = await fetch(url, init);
    return { status: answer.status, text: await answer.text() };
  };

  it('reads the host by each of its data sources', async () => {
    if (!('bin' in python)) return;
    const root = join(python.directory, 'debian', 'root', 'usr', 'lib', 'python3', 'dist-packages');
    const script = join(import.meta.dirname, 'data_sources.py');
    const { stdout } = await run(join(python.bin, 'python'), [script, urls['one'] ?? '', folder], {
      env: { PATH: process.env['PATH'], PYTHONPATH: root },
    });
    const found = JSON.parse(stdout) as Record<'ec2' | 'openstack' | 'nocloud', JsonObject>;
    const host = { hostname: 'one', keys: ['ssh-ed25519 AAAA me'], user_data: userData };
    const id = new URL(urls['one'] ?? '').pathname.split('/')[3];
    for (const source of [found.ec2, found.openstack, found.nocloud]) expect(source).toMatchObject({ ...host, id });
    expect(found.ec2['metadata']).toMatchObject({
      'instance-type': 'baremetal',
      placement: { 'availability-zone': 'nova' },
      tags: { instance: { role: 'one' } },
    });
    expect(found.openstack['metadata']).toMatchObject({ uuid: id, meta: { role: 'one' } });
  });

  it('takes a session token as EC2 does, for one host only', async () => {
    const session = (url: string, seconds: string, more: Record<string, string> = {}) =>
      get(`${url}/latest/api/token`, {
        method: 'PUT',
        headers: { 'x-aws-ec2-metadata-token-ttl-seconds': seconds, ...more },
      });
    const { one = '', two = '' } = urls;
    const { text: token } = await session(one, '60');
    const read = (url: string, given: string) =>
      get(`${url}/latest/meta-data/hostname`, { headers: { 'x-aws-ec2-metadata-token': given } });
    expect(await read(one, token)).toEqual({ status: 200, text: 'one' });
    expect((await read(two, token)).status).toBe(401);
    expect((await session(one, '0')).status).toBe(400);
    expect((await session(one, '21601')).status).toBe(400);
    expect((await session(one, '60', { 'x-forwarded-for': '10.0.0.1' })).status).toBe(403);
  });

  it('never reads another host: not with its own key, and not by an address that no operator declared', async () => {
    const { one = '', two = '' } = urls;
    const [idOfTwo = '', keyOfOne = ''] = [two.split('/').at(-2), one.split('/').at(-1)];
    const crossed = `${server.url}/metadata/v1/${idOfTwo}/${keyOfOne}`;
    expect((await get(`${crossed}/latest/user-data`)).status).toBe(404);
    expect((await get(`${server.url}/latest/user-data`)).status).toBe(404);
    const machine = (await server.client.nodes.list()).find(({ instance_uuid: id }) => id === idOfTwo);
    const properties = machine?.['properties'];
    const nics = isObject(properties) && Array.isArray(properties['interfaces']) ? properties['interfaces'] : [];
    const declared = nics.map((nic, at) =>
      isObject(nic) && at === 0 ? { ...nic, network: 'data', addresses: ['127.0.0.1'] } : nic,
    );
    const patched = await fetch(`${server.url}/baremetal/v1/nodes/${machine?.uuid}`, {
      method: 'PATCH',
      headers: {
        'x-auth-token': (await logInOverHttp(server)).token,
        'content-type': 'application/json',
        'x-openstack-ironic-api-version': 'latest',
      },
      body: JSON.stringify([{ op: 'add', path: '/properties/interfaces', value: declared }]),
    });
    expect(patched.status).toBe(200);
    const name = await eventually(
      async () => {
        const { status, text } = await get(`${server.url}/latest/meta-data/hostname`);
        return status === 200 ? text : undefined;
      },
      { what: 'the declared address' },
    );
    expect(name).toBe('two');
    const proxied = { headers: { 'x-forwarded-for': '127.0.0.1' } };
    expect((await get(`${server.url}/latest/meta-data/hostname`, proxied)).status).toBe(404);
  });

  it('reads nothing any more when its token was renewed or its server is deleted', async () => {
    const { one = '', two = '' } = urls;
    const renewed = await server.anneal('host', 'token', two.split('/').at(-2) ?? '');
    expect(renewed.status).toBe(0);
    expect((await get(`${two}/latest/user-data`)).status).toBe(404);
    expect((await get(`${one}/latest/user-data`)).status).toBe(200);
    await server.client.stacks.delete({ stack: 's' });
    await eventually(async () => ((await get(`${one}/latest/`)).status === 404 ? true : undefined), {
      what: 'the end of the host',
      last: () => server.output(),
    });
  });
});
