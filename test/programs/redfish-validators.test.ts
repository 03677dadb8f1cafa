/** DMTF's validators of Redfish services against the lab: schemas, protocol, and Ironic's profile of interoperability. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { cacheFolder, findProgram } from '../backends/program.ts';
import { installFromPypi, type NoPython, type PythonEnvironment } from '../backends/pypi.ts';

const run = promisify(execFile);
const packages = [
  'redfish_service_validator==3.1.8',
  'redfish_protocol_validator==1.3.2',
  'redfish_interop_validator==3.0.4',
];
const ironic = 'ironic-39.0.0';
const profile = `${ironic}/redfish-interop-profiles/OpenStackIronicProfile.v1_2_0.json`;
/** A package with DMTF's schemas, which the service validator cannot download everywhere. */
const schemas = 'nv-redfish-schema-0.22.1';
const validatorMs = 240_000;

/** The source of Ironic, which holds its profile. */
const withProfile = async ({ directory, bin }: PythonEnvironment): Promise<void> => {
  const words = ['download', '-q', '--no-deps', '--no-binary', 'ironic', '-d', directory, ironic.replace('-', '==')];
  await run(join(bin, 'pip'), words, { maxBuffer: 16 * 1024 * 1024 });
  await run('tar', ['-xzf', join(directory, `${ironic}.tar.gz`), '-C', directory, profile]);
};

/** The folder with the schemas, kept between runs. @returns why it cannot be made */
async function fetchSchemas(): Promise<{ folder: string } | { missing: string }> {
  const folder = join(cacheFolder(), '..', schemas);
  const isComplete = await readdir(folder).then(
    (names) => names.includes('ComputerSystem_v1.xml'),
    () => false,
  );
  if (isComplete) return { folder };
  const cargo = await findProgram('cargo', [join(homedir(), '.cargo', 'bin')]);
  if (cargo === undefined) return { missing: 'cargo, which fetches the schemas of Redfish, is not installed' };
  const work = await mkdtemp(join(tmpdir(), 'anneal-schemas-'));
  try {
    const [, name = '', version = ''] = /^(.*)-([\d.]+)$/.exec(schemas) ?? [];
    await mkdir(join(work, 'src'));
    await writeFile(join(work, 'src', 'lib.rs'), '');
    await writeFile(
      join(work, 'Cargo.toml'),
      `[package]\nname = "schemas"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n${name} = "=${version}"\n`,
    );
    await run(cargo, ['vendor', '-q', '--versioned-dirs', 'vendor'], { cwd: work, maxBuffer: 16 * 1024 * 1024 });
    await cp(join(work, 'vendor', schemas, 'redfish-csdl', 'csdl'), join(work, 'done'), { recursive: true });
    await rm(folder, { recursive: true, force: true });
    await mkdir(join(folder, '..'), { recursive: true });
    await cp(join(work, 'done'), `${folder}.new`, { recursive: true });
    await rename(`${folder}.new`, folder);
    return { folder };
  } catch (error) {
    return { missing: `the schemas of Redfish could not be fetched: ${String(error).slice(0, 300)}` };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

describe('the lab and the validators of DMTF', () => {
  let directory: string;
  let lab: Lab;
  let validators: PythonEnvironment | NoPython;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-validators-'));
    validators = await installFromPypi(packages, withProfile);
    lab = await startLab({
      // One of each kind: with a task for each reset, with older firmware.
      machines: 4,
      directory: join(directory, 'lab'),
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.1,
      environment: process.env,
      startAgent: () => Promise.resolve({ stop: () => Promise.resolve(), kill: () => {} }),
      log: pino({ level: 'silent' }),
      tls: true,
    });
    const certificate = join(directory, 'ca.pem');
    const { cert } = JSON.parse(await readFile(join(directory, 'lab', 'certificate.json'), 'utf8')) as { cert: string };
    await writeFile(certificate, cert);
    environment = { ...process.env, REQUESTS_CA_BUNDLE: certificate };
  }, 400_000);
  afterAll(async () => {
    await lab.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** The output of a validator, whatever its exit status. */
  async function validate(context: TestContext, kind: string, words: (folder: string) => string[]): Promise<string> {
    if (!('bin' in validators)) return context.skip(validators.missing);
    const access = ['-u', lab.username, '-p', lab.password, '-r', lab.url];
    const options = { cwd: directory, env: environment, maxBuffer: 16 * 1024 * 1024, timeout: validatorMs };
    const program = join(validators.bin, `rf_${kind}_validator`);
    const ended = await run(program, [...access, ...words(validators.directory)], options).catch(
      (error: unknown) => error as { stdout: string; stderr: string },
    );
    return `${ended.stdout}\n${ended.stderr}`;
  }
  /** The last row of the table: passed, warnings, failed, not tested. */
  function totals(text: string): { passed: number; failed: number } {
    const rows = [...text.matchAll(/^\|\s*(\d+)\s*\|\s*\d+\s*\|\s*(\d+)\s*\|\s*\d+\s*\|$/gm)];
    const [, passed, failed] = rows.at(-1) ?? [];
    if (passed === undefined) throw new Error(`no result: ${text.slice(-3_000)}`);
    return { passed: Number(passed), failed: Number(failed) };
  }

  it(
    'find no failure in the documents of the lab (service validator)',
    async (context) => {
      const found = await fetchSchemas();
      if ('missing' in found) return context.skip(found.missing);
      const words = ['--schema_directory', found.folder, '--skipschema', '--logdir', 'service'];
      const text = await validate(context, 'service', () => words);
      const { passed, failed } = totals(text);
      expect(failed, text).toBe(0);
      expect(passed).toBeGreaterThan(1_800);
    },
    validatorMs,
  );

  it(
    'find no failure against the profile of Ironic (interop validator)',
    async (context) => {
      const text = await validate(context, 'interop', (folder) => ['--logdir', 'interop', join(folder, profile)]);
      const { passed, failed } = totals(text);
      expect(failed, text).toBe(0);
      expect(passed).toBeGreaterThan(250);
    },
    validatorMs,
  );

  it(
    'find no failure in its protocol (protocol validator)',
    async (context) => {
      const certificate = environment['REQUESTS_CA_BUNDLE'] ?? '';
      const words = ['--ca-bundle', certificate, '--avoid-http-redirect', '--report-dir', 'protocol'];
      const text = await validate(context, 'protocol', () => [...words, '--report-type', 'tsv']);
      const [, passed, failed] = /PASS: (\d+), WARN: \d+, FAIL: (\d+)/.exec(text) ?? [];
      const [report = ''] = await readdir(join(directory, 'protocol'));
      const rows = (await readFile(join(directory, 'protocol', report), 'utf8')).split('\n');
      expect(rows.filter((row) => row.includes('\tFAIL\t'))).toEqual([]);
      expect([Number(passed) > 250, failed]).toEqual([true, '0']);
    },
    validatorMs,
  );
});
