import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dnsmasqConfig } from './dnsmasq.ts';

const url = 'http://10.0.0.1:8470/';
const own = dnsmasqConfig({
  url,
  interface: 'lo',
  range: ['10.0.0.100', '10.0.0.200'],
  proxy: undefined,
  ipxe: '/usr/lib/ipxe',
});
const beside = dnsmasqConfig({ url, interface: 'lo', range: undefined, proxy: '10.0.0.0', ipxe: '/usr/lib/ipxe' });
const dnsmasq = spawnSync('dnsmasq', ['--version'], { env: { PATH: `${process.env['PATH']}:/usr/sbin` } });

describe('the configuration of dnsmasq', () => {
  it('gives iPXE to firmware, and the script of the server to iPXE', () => {
    expect(own).toContain('dhcp-boot=tag:ipxe,http://10.0.0.1:8470/boot/v1/ipxe?uuid=${uuid}\n');
    for (const text of [own, beside]) {
      expect(text).toContain('dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe\n');
    }
    expect(own).toContain('dhcp-range=10.0.0.100,10.0.0.200,12h\n');
    expect(beside).toContain('dhcp-range=10.0.0.0,proxy\n');
    expect(beside).not.toContain('dhcp-authoritative');
  });

  it('names a server beside another DHCP server, without which iPXE ignores the script', () => {
    expect(beside).toContain('dhcp-boot=tag:ipxe,http://10.0.0.1:8470/boot/v1/ipxe?uuid=${uuid},,10.0.0.1\n');
    const named = { url: 'https://anneal.example.com', interface: 'lo', range: undefined, ipxe: '/usr/lib/ipxe' };
    expect(dnsmasqConfig({ ...named, proxy: '10.0.0.0' })).toContain('?uuid=${uuid},,10.0.0.0\n');
  });

  it.skipIf(dnsmasq.error)('is accepted by dnsmasq', () => {
    const folder = mkdtempSync(join(tmpdir(), 'anneal-dnsmasq-'));
    try {
      for (const text of [own, beside]) {
        const file = join(folder, 'dnsmasq.conf');
        writeFileSync(file, text);
        const checked = spawnSync('dnsmasq', ['--test', `--conf-file=${file}`], {
          env: { PATH: `${process.env['PATH']}:/usr/sbin` },
          encoding: 'utf8',
        });
        expect(`${checked.status} ${checked.stderr}`).toMatch(/^0 .*syntax check OK/s);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
