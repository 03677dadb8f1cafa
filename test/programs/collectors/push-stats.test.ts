/**
 * Unmodified cfn-push-stats of heat-cfntools: it posts to `/v1/` at port 8003 of the server that its boto file names, signed
 * with the keys of its stack. Skipped without python3, access to PyPI, the right to write its files, or that port.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installFromPypi, type NoPython, type PythonEnvironment } from '../../backends/pypi.ts';
import { bundle, settled, startServer, type TestServer } from '../../e2e/server.ts';

const run = promisify(execFile);
/** The program has these names in its text. */
const botoFolder = '/var/lib/heat-cfntools';
const botoFile = join(botoFolder, 'cfn-boto-cfg');
const logFolder = '/var/log';
const port = 8003;

let programs: PythonEnvironment | NoPython;
let server: TestServer | undefined;
let front: Server | undefined;
let folder: string;
let wrote = false;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-push-'));
  programs = await installFromPypi(['heat-cfntools==2.0.0', 'psutil==7.2.2', 'setuptools==65.5.0']);
  if ('missing' in programs) return;
  const refusal = await prepare();
  if (refusal !== undefined) {
    programs = { missing: refusal };
    return;
  }
  server = await startServer({
    lab: 0,
    env: { ANNEAL_NOTIFICATION_MEASUREMENT_PERIOD_SECONDS: '1', ANNEAL_NOTIFICATION_ALARM_SECONDS: '1' },
  });
  front = createServer((socket) => {
    const inner = connect(Number(new URL(server?.url ?? '').port), '127.0.0.1');
    for (const each of [socket, inner]) each.on('error', () => undefined);
    socket.pipe(inner).pipe(socket);
  });
  front.listen(port, '127.0.0.1');
  await Promise.race([
    once(front, 'listening'),
    once(front, 'error').then(([error]) => (programs = { missing: String(error) })),
  ]);
}, 360_000);
afterAll(async () => {
  front?.close();
  await server?.dispose();
  if (wrote) await rm(botoFile, { force: true });
  await rm(folder, { recursive: true, force: true });
});

/** Writes the file that the program reads the server from. Returns why it cannot. */
async function prepare(): Promise<string | undefined> {
  const settings = 'cloudwatch_region_name = heat\ncloudwatch_region_endpoint = 127.0.0.1\n';
  try {
    await access(logFolder, constants.W_OK);
    await mkdir(botoFolder, { recursive: true });
    // A machine that uses the program keeps its own file.
    await writeFile(botoFile, `[Boto]\ndebug = 0\nis_secure = 0\n${settings}`, { flag: 'wx' });
    wrote = true;
    return undefined;
  } catch (error) {
    return `cfn-push-stats needs ${botoFile} and ${logFolder}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const template = `HeatTemplateFormatVersion: '2012-12-12'
Resources:
  User: {Type: AWS::IAM::User}
  Keys: {Type: AWS::IAM::AccessKey, Properties: {UserName: {Ref: User}}}
  Watch:
    Type: AWS::CloudWatch::Alarm
    Properties:
      MetricName: QueueLength
      Namespace: system/linux
      Statistic: Maximum
      Period: '1'
      EvaluationPeriods: '1'
      Threshold: '50'
      ComparisonOperator: GreaterThanThreshold
Outputs:
  key: {Value: {Ref: Keys}}
  watch: {Value: {Ref: Watch}}
  secret: {Value: {'Fn::GetAtt': [Keys, SecretAccessKey]}}
`;

it('posts measurements of each kind, and an alarm judges them', async (context) => {
  if ('missing' in programs) context.skip(programs.missing);
  if (!server || 'missing' in programs) throw new Error('there is no server');
  const { bin } = programs;
  const running = server;
  const { client } = running;
  await client.stacks.create({ name: 'watch', bundle: bundle(template) });
  const { outputs = [] } = await settled(server, 'watch');
  const output = (key: string) => outputs.find(({ output_key }) => output_key === key)?.output_value as string;
  const credentials = join(folder, 'credentials');
  await writeFile(credentials, `AWSAccessKeyId=${output('key')}\nAWSSecretKey=${output('secret')}\n`);
  const push = (...words: string[]) =>
    run(join(bin, 'cfn-push-stats'), ['--credential-file', credentials, '--watch', output('watch'), ...words]);
  await push('--heartbeat', '--service-failure', '--cpu-util', '--disk-space-util', '--disk-space-avail');
  const changes = async () =>
    (await client.events.list({ types: ['alarm.changed'], limit: 100 })).map(({ data }) => data);
  await eventually(
    async () => {
      await push('--metric', 'QueueLength', '--units', 'Count', '--value', '77');
      return (await changes()).some((change) => (change as { state: string }).state === 'alarm') || undefined;
    },
    { what: 'the alarm', last: () => running.output() },
  );
  const listed = JSON.parse((await server.anneal('metric', 'list', '-o', 'json')).stdout) as {
    name: string;
    unit: string;
    labels: Record<string, string>;
  }[];
  const units = Object.fromEntries(listed.map(({ name, unit }) => [name, unit]));
  expect(units).toEqual({
    CPUUtilization: 'Percent',
    DiskSpaceAvailable: 'megabytes',
    DiskSpaceUtilization: 'Percent',
    Heartbeat: 'Counter',
    QueueLength: 'Count',
    ServiceFailure: 'Counter',
  });
  for (const { labels } of listed) {
    expect(labels).toMatchObject({ AlarmName: output('watch'), Namespace: 'system/linux', stack_name: 'watch' });
  }
  // Another secret is refused.
  await writeFile(credentials, `AWSAccessKeyId=${output('key')}\nAWSSecretKey=other\n`);
  await expect(push('--heartbeat')).rejects.toMatchObject({ stderr: expect.stringContaining('SignatureDoesNotMatch') });
});
