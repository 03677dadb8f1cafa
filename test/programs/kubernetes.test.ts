/** The tool `kubernetes` with a real control plane and kubectl. Only the nodes and what would run on them are simulated. */
import { execFile, type ExecFileOptions } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { kubernetes } from '@anneal/tools/kubernetes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownEnvironment, repository } from '../e2e/server.ts';
import { findKubernetes, startControlPlane, type ControlPlane } from '../backends/kubernetes.ts';

const found = await findKubernetes();
if ('missing' in found) process.stderr.write(`Skipped: kubernetes. ${found.missing}\n`);

let directory: string;
let cluster: ControlPlane;

/** Runs a program while this process runs the simulated nodes. */
const run = (program: string, words: readonly string[], options: ExecFileOptions) =>
  new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(program, words, { ...options, encoding: 'utf8' }, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode, stdout, stderr }),
    );
  });

/** Applies a config as an agent does. */
async function apply(deployment: string, config: unknown, changes: Partial<HostRequest> = {}) {
  const work = mkdtempSync(join(directory, 'work-'));
  const given = { deployment_id: deployment, group: 'kubernetes', config, action: 'CREATE', options: {}, ...changes };
  const read = (given.options as { outputs?: object }).outputs ?? {};
  const request = { ...given, outputs: Object.keys(read).map((name) => ({ name, type: 'String' })) };
  const program = kubernetes.program(request as unknown as HostRequest);
  const env = { HOME: directory, ...cluster.env, heat_outputs_path: join(work, 'output') };
  const done = await run('/bin/sh', ['-c', program], { env });
  return { ...done, output: (name: string) => readFileSync(join(work, `output.${name}`), 'utf8') };
}

const deploymentOf = (name: string, pod: Readonly<Record<string, unknown>> = {}, replicas = 2) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name, image: 'example.com/web:1' }], ...pod },
    },
  },
});
const serviceOf = (name: string, port: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port }] },
});
const jobOf = (name: string, pod: Readonly<Record<string, unknown>> = {}) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    backoffLimit: 0,
    template: { spec: { restartPolicy: 'Never', containers: [{ name, image: 'example.com/job:1' }], ...pod } },
  },
});
const nowhere = { nodeSelector: { 'kubernetes.io/hostname': 'no-such-node' } };
const names = async (kinds: string): Promise<string[]> =>
  (await cluster.kubectl('get', kinds, '--all-namespaces', '--selector=anneal-deployment', '-o', 'name'))
    .split('\n')
    .filter(Boolean)
    .toSorted();

describe.skipIf('missing' in found)('the tool kubernetes', () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'anneal-kubernetes-tool-'));
    if ('folder' in found) cluster = await startControlPlane(found.folder);
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('K1, K2: applies, waits for the rollout, reads outputs, removes what an update drops, and deletes', async () => {
    const options = {
      wait: 60,
      outputs: {
        ready: { object: 'deployment/web', jsonpath: '{.status.readyReplicas}' },
        ports: { object: 'service/web', jsonpath: '{.spec.ports[*].port}' },
        done: { object: 'job/migrate', namespace: 'shop', jsonpath: '{.status.succeeded}' },
      },
    };
    const job = jobOf('migrate');
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const inShop = { ...job, metadata: { ...job.metadata, namespace: 'shop' } };
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'web' } };
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'web' }, rules: [] };
    const oldRole = { ...role, metadata: { name: 'old' } };
    const all = [namespace, deploymentOf('web'), serviceOf('web', 80), inShop, settings, account, role, oldRole];
    const made = await apply('first', all, { options });
    expect(made, made.stdout).toMatchObject({ status: 0, stderr: '' });
    expect(['ready', 'ports', 'done'].map((name) => made.output(name))).toEqual(['2', '80', '1']);

    const same = await apply('first', all, { options });
    expect(same.stdout).toMatch(/deployment.apps\/web unchanged/);

    const list = { apiVersion: 'v1', kind: 'List', items: [namespace, deploymentOf('web', {}, 3), inShop, role] };
    const { ports: _, ...kept } = options.outputs;
    const changed = await apply('first', list, { action: 'UPDATE', options: { ...options, outputs: kept } });
    expect(changed, changed.stdout).toMatchObject({ status: 0, stderr: '' });
    expect(changed.output('ready')).toBe('3');
    expect(
      changed.stdout
        .split('\n')
        .filter((line) => line.endsWith(' pruned'))
        .toSorted(),
    ).toEqual([
      'configmap/settings pruned',
      'role.rbac.authorization.k8s.io/old pruned',
      'service/web pruned',
      'serviceaccount/web pruned',
    ]);
    expect(await names('deployments,services,jobs,configmaps,serviceaccounts,roles')).toEqual([
      'deployment.apps/web',
      'job.batch/migrate',
      'role.rbac.authorization.k8s.io/web',
    ]);

    // A newer deployment has taken over one of the objects, so the deletion of the older one leaves it.
    expect(await apply('second', deploymentOf('web', {}, 3))).toMatchObject({ status: 0 });
    const deleted = await apply('first', list, { action: 'DELETE', options });
    expect(deleted.status, deleted.stdout + deleted.stderr).toBe(0);
    expect(await names('deployments,services,jobs,roles,namespaces')).toEqual(['deployment.apps/web']);
    expect(await apply('second', deploymentOf('web'), { action: 'DELETE' })).toMatchObject({ status: 0 });
    expect(await apply('second', deploymentOf('web'), { action: 'DELETE' })).toMatchObject({ status: 0 });
    expect(await names('deployments')).toEqual([]);
  });

  it('K2: removes what an update drops also for a user with rights in one namespace', async () => {
    await cluster.kubectl('create', 'namespace', 'team');
    await cluster.kubectl('create', 'rolebinding', 'member', '--clusterrole=edit', '--user=member', '-n', 'team');
    const admin = JSON.parse(readFileSync(cluster.env.KUBECONFIG, 'utf8')) as { users: { user: object }[] };
    const users = admin.users.map((user) => ({ ...user, user: { ...user.user, as: 'member' } }));
    const kubeconfig = join(directory, 'member');
    writeFileSync(kubeconfig, JSON.stringify({ ...admin, users }));
    const options = { kubeconfig, namespace: 'team' };
    const made = await apply('team', [deploymentOf('web'), serviceOf('web', 80)], { options });
    expect(made, made.stdout).toMatchObject({ status: 0, stderr: '' });
    const changed = await apply('team', deploymentOf('web'), { action: 'UPDATE', options });
    expect(changed).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^service\/web pruned$/m) });
    const away = await apply('away', serviceOf('web', 80), { options: { kubeconfig } });
    expect(away).toMatchObject({ status: 1, stderr: expect.stringMatching(/forbidden: User "member"/) });
    expect(await apply('team', deploymentOf('web'), { action: 'DELETE', options })).toMatchObject({ status: 0 });
  });

  it('K1: fails a rollout that does not end, and a job that cannot run, with the object, its pods and the reasons', async () => {
    const options = { wait: 3 };
    const stuck = await apply('stuck', [serviceOf('api', 80), deploymentOf('api', nowhere)], { options });
    expect(stuck).toMatchObject({ status: 1 });
    expect(stuck.stderr).toMatch(/deployment\/api is not ready:\n {2}Available=False: MinimumReplicasUnavailable/);
    expect(stuck.stderr).toMatch(/pod api-\S+ Pending; Unschedulable 0\/2 nodes are available/);
    const job = await apply('stuck-job', jobOf('load', nowhere), { options });
    expect(job).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/job\/load is not ready:\n[^]*Unschedulable/),
    });
    for (const [id, config] of [
      ['stuck', [serviceOf('api', 80), deploymentOf('api')]],
      ['stuck-job', jobOf('load')],
    ] as const)
      expect(await apply(id, config, { action: 'DELETE' })).toMatchObject({ status: 0 });
  });

  it('runs its example in the lab', async () => {
    const words = [
      join(repository, 'test/demo/example.ts'),
      'tools/kubernetes',
      '-P',
      `kubeconfig=${cluster.env.KUBECONFIG}`,
    ];
    const { status, stdout, stderr } = await run(process.execPath, words, {
      cwd: repository,
      env: { ...ownEnvironment(), PATH: cluster.env.PATH },
      // It stops then, and the failure shows where it waited.
      timeout: 240_000,
    });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/address +10\.96\.\d+\.\d+/);
  });

  it('reports what the API server refuses, and a cluster that does not answer', async () => {
    const refused = await apply('refused', { ...serviceOf('web', 0), metadata: { name: 'Web_1' } });
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/Web_1[^]*metadata.name: Invalid value/),
    });
    const away = await apply('away', serviceOf('web', 80), { options: { kubeconfig: '/nowhere' } });
    expect(away).toMatchObject({ status: 1, stderr: expect.stringContaining('/nowhere') as string });
    const strange = await apply('strange', serviceOf('web', 80), { options: { context: 'other' } });
    expect(strange).toMatchObject({ status: 1, stderr: expect.stringContaining('other') as string });
  });
});
