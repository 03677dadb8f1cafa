/** The chart and the units of deploy/, checked by the real `helm`, and by `systemd-analyze` when this machine has it. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { findHelm } from '../backends/helm.ts';
import { findProgram } from '../backends/program.ts';
import { repository } from '../e2e/server.ts';

const found = await findHelm();
if (typeof found !== 'string') process.stderr.write(`Skipped: the chart. ${found.missing}\n`);
const helm = typeof found === 'string' ? found : undefined;
const analyze = await findProgram('systemd-analyze');
const run = promisify(execFile);
const chart = 'deploy/helm/anneal';
const values = globSync('deploy/helm/examples/*.values.yaml', { cwd: repository }).toSorted();
/** Values that every installation must give. */
const secrets = ['--set', `secret.keys=${'A'.repeat(43)}`, '--set', 'secret.adminPassword=longenough'];
/** A version that the chart allows. `helm` itself assumes the one of its libraries. */
const kubernetes = ['--kube-version', '1.34.4'];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly targetPort: string | number }[];
    readonly scaleTargetRef?: { readonly name: string };
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly ports?: readonly { readonly name: string }[] }[] };
    };
  };
}

/** Refuses unnamed and doubled objects, and references to nothing, which the API server refuses or which never work. */
function checkManifests(manifests: readonly Manifest[]): void {
  const names = manifests.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`);
  expect(names.filter((name) => name.includes('undefined'))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  const covers = (labels: object, wanted: object): boolean =>
    Object.entries(wanted).every(([key, value]) => new Map(Object.entries(labels)).get(key) === value);
  for (const { spec, metadata } of deployments) {
    const labels = spec.template?.metadata.labels ?? {};
    expect(covers(labels, spec.selector?.['matchLabels'] as object), metadata.name).toBe(true);
  }
  for (const { spec, metadata } of manifests.filter(({ kind }) => kind === 'Service')) {
    const behind = deployments.filter((each) => covers(each.spec.template?.metadata.labels ?? {}, spec.selector ?? {}));
    expect(behind, metadata.name).not.toEqual([]);
    for (const { targetPort } of spec.ports ?? []) {
      const ports = behind.flatMap((each) => each.spec.template?.spec.containers.flatMap(({ ports: own = [] }) => own));
      expect(
        ports.map((port) => port?.name),
        metadata.name,
      ).toContain(targetPort);
    }
  }
  const scaled = manifests.flatMap(({ spec }) => spec?.scaleTargetRef?.name ?? []);
  for (const name of scaled) expect(deployments.map(({ metadata }) => metadata.name)).toContain(name);
}

it.skipIf(helm === undefined).each(values)('the chart has no mistake with %s', async (file) => {
  await run(helm ?? '', ['lint', '--strict', chart, '--values', file, ...secrets], { cwd: repository });
  const { stdout } = await run(helm ?? '', ['template', 'anneal', chart, '--values', file, ...secrets, ...kubernetes], {
    cwd: repository,
    maxBuffer: 1 << 24,
  });
  for (const service of [
    'gateway',
    'identity',
    'templating',
    'scheduling',
    'provisioning',
    'configuration',
    'notification',
  ]) {
    expect(stdout).toMatch(new RegExp(`^kind: Deployment\\nmetadata:\\n {2}name: anneal-${service}$`, 'm'));
  }
  checkManifests(parseAllDocuments(stdout).map((document) => document.toJS({ maxAliasCount: 0 }) as Manifest));
});

it.skipIf(helm === undefined)('the chart refuses an unknown value', async () => {
  const words = ['template', 'anneal', chart, '--values', String(values[0]), ...secrets, ...kubernetes];
  await expect(run(helm ?? '', [...words, '--set', 'replicaz=2'], { cwd: repository })).rejects.toMatchObject({
    stderr: expect.stringContaining('replicaz'),
  });
});

it.skipIf(analyze === undefined)('systemd finds no mistake in the units', async () => {
  const root = await mkdtemp(join(tmpdir(), 'anneal-units-'));
  try {
    // Where the units expect the installation.
    const bin = join(root, 'opt/anneal/node_modules/node/bin');
    const units = join(root, 'etc/systemd/system');
    for (const folder of [bin, units]) await mkdir(folder, { recursive: true });
    await cp('/bin/true', join(bin, 'node'), { dereference: true });
    // The units of systemd itself, which ours name.
    const own = 'usr/lib/systemd/system';
    await cp(join('/', own), join(root, own), { recursive: true, verbatimSymlinks: true });
    const files = globSync('deploy/systemd/*.{service,target}', { cwd: repository });
    for (const file of files) await cp(join(repository, file), join(units, basename(file)));
    const names = files.map((file) => basename(file).replace('@.', '@gateway.'));
    expect(names.length).toBeGreaterThan(3);
    const { stdout, stderr } = await run(analyze ?? '', ['verify', `--root=${root}`, ...names]);
    expect([stdout, stderr]).toEqual(['', '']);
  } finally {
    await rm(root, { recursive: true });
  }
});
