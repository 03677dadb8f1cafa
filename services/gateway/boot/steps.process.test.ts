import { execFile, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostToken } from '../testing/stand-ins.ts';
import { startTestGateway } from '../testing/test-gateway.ts';
import { bootScript, hintLines } from './steps.ts';

const hostile = `it's "$(touch pwned)" \`touch pwned\` \\ ANNEAL_END\nANNEAL_END\n$HOME`;
const seed: BootSeed = {
  format: 1,
  purpose: 'deploy',
  host_id: 'h1',
  hostname: 'web1',
  gateway_url: 'http://10.0.2.2:8470',
  project: 'p1',
  token: 'host-token',
  requests_queue: 'h1.requests',
  responses_queue: 'h1.responses',
  user_data: hostile,
  metadata: { role: hostile },
  report_token: 'report-token',
  image: { name: 'debian', url: 'http://10.0.2.2/disk.img', sha256: 'a'.repeat(64), size: 1000 },
  image_name: 'debian',
  metadata_url: 'http://10.0.2.2:8470/metadata/v1/h1/key',
};

describe('the script of a booting machine', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anneal-steps-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  /** Runs functions of the script in a folder: everything but its last line, which begins the work. */
  const runs = (script: string, commands: string): string => {
    const functions = script.trimEnd().split('\n').slice(0, -1).join('\n');
    return execFileSync('sh', ['-s'], { cwd: folder, input: `${functions}\n${commands}\n`, encoding: 'utf8' });
  };

  it('writes a config drive with what users gave, and reads none of it as code', () => {
    mkdirSync(join(folder, 'openstack/latest'), { recursive: true });
    mkdirSync(join(folder, 'anneal'));
    runs(bootScript(seed), `config_drive ${folder}`);
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    expect(read('openstack/latest/user_data')).toBe(`${hostile}\n`);
    expect(JSON.parse(read('openstack/latest/meta_data.json'))).toMatchObject({
      uuid: 'h1',
      hostname: 'web1',
      meta: { role: hostile },
    });
    const vendor = JSON.parse(read('openstack/latest/vendor_data.json')) as Record<string, string>;
    expect(`${vendor['cloud-init']}`.trimEnd()).toBe(read('anneal/install.sh').trimEnd());
    expect(read('anneal/install.sh')).toContain('token=host-token');
    execFileSync('sh', ['-n', join(folder, 'anneal/install.sh')]);
    expect(read('anneal/metadata-url')).toBe(`${seed.metadata_url}\n`);
    expect(() => readFileSync(join(folder, 'pwned'))).toThrow('ENOENT');
  });

  it('writes the network configuration that the node declares', () => {
    mkdirSync(join(folder, 'openstack/latest'), { recursive: true });
    mkdirSync(join(folder, 'anneal'));
    const network_data = { links: [{ id: 'link0' }], networks: [], services: [] };
    runs(bootScript({ ...seed, network_data }), `config_drive ${folder}`);
    const written = readFileSync(join(folder, 'openstack/latest/network_data.json'), 'utf8');
    expect(JSON.parse(written)).toEqual(network_data);
  });

  it.each([
    ['continues an interrupted download behind what is on the disk', true, ['bytes=3145728-']],
    ['begins again where a server sends no parts', false, ['bytes=3145728-', undefined]],
  ])('%s, and checks the whole', async (_what, parts, further) => {
    const image = randomBytes(6 * 2 ** 20 + 17);
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      const { range } = request.headers;
      asked.push(range);
      const from = parts ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
      response.writeHead(from > 0 ? 206 : 200, { 'content-length': image.length - from });
      // The connection breaks in the fourth MiB.
      if (asked.length === 1) response.write(image.subarray(0, 3.5 * 2 ** 20), () => response.destroy());
      else response.end(image.subarray(from));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/disk.img`;
      const sha256 = createHash('sha256').update(image).digest('hex');
      const script = bootScript({ ...seed, image: { name: 'debian', url, sha256, size: image.length } });
      const functions = script.trimEnd().split('\n').slice(0, -1).join('\n');
      const disk = join(folder, 'disk');
      writeFileSync(disk, Buffer.alloc(8 * 2 ** 20, 1));
      const file = join(folder, 'script.sh');
      writeFileSync(file, `${functions}\nbest=..${disk}\nwrite_image\n`);
      const env = { ...process.env, run: folder, caches: join(folder, 'caches') };
      const { stdout } = await promisify(execFile)('sh', [file], { env, cwd: folder });
      expect(stdout).toContain('the checksum on the disk is right');
      expect(asked).toEqual([undefined, ...further]);
      expect(readFileSync(disk).subarray(0, image.length).equals(image)).toBe(true);
    } finally {
      server.close();
    }
  });

  it('does nothing when its end is missing', () => {
    const script = bootScript({ ...seed, purpose: 'clean', erase: 'full' });
    const lines = script.trimEnd().split('\n');
    expect(lines.at(-1)).toBe('{ clean; }');
    expect(execFileSync('sh', ['-s'], { input: lines.slice(0, -1).join('\n'), encoding: 'utf8' })).toBe('');
  });

  it('chooses a disk only by hints that it understands', () => {
    const attributes =
      'attribute() { case $2 in model) echo "INTEL SSD  " ;; size) echo 480 ;; rotational) echo false ;; serial) echo S1 ;; esac; }';
    const fits = (root_device: Record<string, string | number | boolean>): boolean =>
      runs(
        bootScript({ ...seed, root_device }),
        `${attributes}\nif fits sda; then echo yes; else echo no; fi`,
      ).trim() === 'yes';
    expect(fits({})).toBe(true);
    expect(fits({ model: 'Intel SSD', size: 480, rotational: false })).toBe(true);
    expect(fits({ model: '<in> ssd', size: '>= 200' })).toBe(true);
    expect(fits({ size: '>= 500' })).toBe(false);
    expect(fits({ serial: 's2' })).toBe(false);
    expect(fits({ wwn: '0x5000' })).toBe(false);
    expect(fits({ by_path: '/dev/disk/by-path/x' })).toBe(false);
    expect(fits({ serial: 's== S1' })).toBe(true);
    expect(fits({ rotational: true })).toBe(false);
  });
});

describe('the program that installs the agent on an image', () => {
  it('starts the agent of this server with the credentials of the host, and again at the next boot', async () => {
    const gateway = await startTestGateway();
    const folder = mkdtempSync(join(tmpdir(), 'anneal-install-'));
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ANNEAL_PREFIX: join(folder, 'prefix') };
    const agent = join(folder, 'prefix/bin/anneal-agent');
    const run = promisify(execFile);
    try {
      mkdirSync(join(folder, 'openstack/latest'), { recursive: true });
      mkdirSync(join(folder, 'anneal'));
      const script = bootScript({ ...seed, gateway_url: gateway.url, token: hostToken });
      execFileSync('sh', ['-s'], {
        input: `${script.trimEnd().split('\n').slice(0, -1).join('\n')}\nconfig_drive ${folder}\n`,
      });
      for (const boot of [1, 2]) {
        const { stdout } = await run('sh', [join(folder, 'anneal/install.sh')], { env });
        expect(`${boot} ${stdout}`).toContain('its agent runs in the background');
        expect((await run('sh', [agent, 'status'], { env })).stdout).toContain('runs, process');
        await run('sh', [agent, 'stop'], { env });
      }
      const conf = readFileSync(join(folder, 'prefix/lib/anneal-agent/conf'), 'utf8');
      expect(conf).toContain(`url=${gateway.url}\ntoken=${hostToken}\n`);
      expect(conf).toMatch(/^client=[0-9a-f-]{36}$/m);
    } finally {
      await run('sh', [agent, 'stop'], { env }).catch(() => undefined);
      await gateway.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

it('keeps each hint on its line', () => {
  expect(hintLines({ model: 'a\tb\nserial\t=\tx', size: '= 10' })).toBe('model\t=\ta b serial = x\nsize\t>=\t10');
});
