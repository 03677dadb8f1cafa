/**
 * A Kubernetes control plane for tests: the real etcd, API server, controllers and scheduler, and kubectl. Go builds the
 * programs once, from their modules, into the cache. The nodes are simulated: a pod that the scheduler gives to one is
 * ready at once, the pod of a job has succeeded, and a deleted one is gone.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freeLocalPort } from './free-port.ts';
import type { MissingBackend } from './backend.ts';
import { atProcessEnd } from './process-end.ts';
import { cacheFolder, findProgram, isProgram } from './program.ts';

const run = promisify(execFile);
const version = '1.34.4';
const etcdVersion = '3.6.4';
/** A cold build compiles for 9 minutes of processor time. */
const buildMs = 1_200_000;
const startMs = 120_000;

/** Modules of the same source as Kubernetes. They have versions of their own, which Go does not take from it. */
const staged = [
  'api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap',
  'code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib',
  'dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy',
  'kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin',
  'sample-controller',
].flatMap((line) => line.split(' '));
const commands = [
  ...['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'].map(
    (name) => `k8s.io/kubernetes/cmd/${name}`,
  ),
  'go.etcd.io/etcd/server/v3',
];
/** Go names the program of a module after its folder. */
const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'server'];

/** The folder of the programs. */
export async function findKubernetes(): Promise<{ folder: string } | MissingBackend> {
  const folder = join(cacheFolder(), `kubernetes-${version}`);
  const found = await Promise.all(programs.map((name) => isProgram(join(folder, name))));
  if (found.every(Boolean)) return { folder };
  const go = await findProgram('go');
  if (go === undefined) return { missing: 'Kubernetes cannot be built: there is no go on the PATH.' };
  try {
    await build(go, folder);
    return { folder };
  } catch (error) {
    return { missing: `Kubernetes cannot be built: ${reasonOf(error)}` };
  }
}

/** The end of what Go printed, because the message of the error begins with the long command. */
function reasonOf(error: unknown): string {
  const { killed = false, stderr = '' } = error as { killed?: boolean; stderr?: string };
  if (killed) return `the build did not end within ${buildMs / 60_000} minutes.`;
  return stderr.trim().slice(-500) || String(error);
}

async function build(go: string, folder: string): Promise<void> {
  process.stderr.write(`Building Kubernetes ${version} with Go, once, into ${folder}\n`);
  await mkdir(cacheFolder(), { recursive: true });
  // Build in a temporary folder, because another test run may build at the same time.
  const making = await mkdtemp(join(cacheFolder(), 'making-kubernetes-'));
  try {
    const replaced = staged.map((name) => `replace k8s.io/${name} => k8s.io/${name} v0${version.slice(1)}`);
    const needed = [`require k8s.io/kubernetes v${version}`, `require go.etcd.io/etcd/server/v3 v${etcdVersion}`];
    await writeFile(
      join(making, 'go.mod'),
      ['module anneal.test/kubernetes', 'go 1.24.0', ...needed, ...replaced, ''].join('\n'),
    );
    const out = join(making, 'out');
    await run(go, ['build', '-mod=mod', '-trimpath', '-ldflags', '-s -w', '-o', `${out}/`, ...commands], {
      cwd: making,
      timeout: buildMs,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
    });
    await rename(out, folder).catch((error: unknown) => {
      // The other run was first.
      if (!/ENOTEMPTY|EEXIST/.test(String(error))) throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

export interface ControlPlane {
  /** Environment with kubectl on the PATH, for a user with all rights. */
  readonly env: { readonly PATH: string; readonly KUBECONFIG: string };
  /** Runs kubectl and returns what it prints. */
  kubectl(...words: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a control plane with two simulated nodes, whose pods become ready at once. */
export async function startControlPlane(folder: string): Promise<ControlPlane> {
  const data = await mkdtemp(join(tmpdir(), 'anneal-kubernetes-'));
  const children: ChildProcess[] = [];
  atProcessEnd(() => children.forEach((child) => child.kill('SIGKILL')));
  const stopped = new AbortController();
  let nodes = Promise.resolve();
  const stop = async (): Promise<void> => {
    stopped.abort();
    await nodes;
    for (const child of children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await rm(data, { recursive: true, force: true });
  };
  try {
    const [etcd, peer, api] = [await freeLocalPort(), await freeLocalPort(), await freeLocalPort()];
    const files = await credentials(data, api);
    const output = new Map<string, string>();
    const start = (name: string, flags: readonly string[]): void => {
      const child = spawn(join(folder, name), flags, { cwd: data, stdio: ['ignore', 'pipe', 'pipe'] });
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) =>
          output.set(name, `${output.get(name) ?? ''}${chunk.toString()}`.slice(-2_000)),
        );
      children.push(child);
    };
    const etcdUrl = `http://127.0.0.1:${etcd}`;
    start('server', [
      `--data-dir=${join(data, 'etcd')}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-cluster=default=http://127.0.0.1:${peer}`,
      '--unsafe-no-fsync',
    ]);
    start('kube-apiserver', [
      `--etcd-servers=${etcdUrl}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${api}`,
      `--cert-dir=${join(data, 'certificates')}`,
      `--token-auth-file=${files.tokens}`,
      `--service-account-issuer=https://127.0.0.1:${api}`,
      `--service-account-key-file=${files.key}`,
      `--service-account-signing-key-file=${files.key}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--authorization-mode=RBAC',
      // It marks each new node as not ready.
      '--disable-admission-plugins=TaintNodesByCondition',
    ]);
    const env = { PATH: [folder, process.env['PATH'] ?? ''].join(delimiter), KUBECONFIG: files.kubeconfig };
    const kubectl = async (...words: string[]): Promise<string> =>
      (await run(join(folder, 'kubectl'), words, { env: { ...process.env, ...env }, timeout: 60_000 })).stdout;
    const end = performance.now() + startMs;
    const until = async (what: string, isReady: () => Promise<unknown>): Promise<void> => {
      for (;;) {
        const reason = await isReady().then(
          () => '',
          (error: unknown) => String(error),
        );
        if (reason === '') return;
        const dead = children.some(({ exitCode }) => exitCode !== null);
        if (dead || performance.now() > end)
          throw new Error(`Kubernetes did not start, ${what}: ${reason} ${JSON.stringify([...output], null, 1)}`);
        await sleep(200);
      }
    };
    await until('the API server being ready', () => kubectl('get', '--raw', '/readyz'));
    // They end when the API server is not ready within seconds.
    const client = [`--kubeconfig=${files.kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
    start('kube-controller-manager', [
      ...client,
      `--service-account-private-key-file=${files.key}`,
      // It looks for signs of life, which simulated nodes do not give.
      '--controllers=*,-node-lifecycle-controller',
    ]);
    start('kube-scheduler', client);
    await until('the nodes', () => kubectl('apply', '-f', files.nodes));
    await until('the service account of pods', () => kubectl('get', 'serviceaccount', 'default'));
    nodes = runPods(callerOf(api, files.token), stopped.signal);
    return { env, kubectl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** Calls the API server as the administrator. Its certificate is its own. */
const callerOf =
  (port: number, token: string): Call =>
  async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' };
    const call = request({ host: '127.0.0.1', port, path, method, headers, rejectUnauthorized: false });
    call.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(call, 'response')) as [AsyncIterable<Buffer>];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString());
  };

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string };
}

/** Does the part of the nodes until it is stopped. */
async function runPods(call: Call, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // The next turn finds what changes meanwhile.
    const { items = [] } = (await call('GET', '/api/v1/pods').catch(() => ({}))) as { items?: readonly Pod[] };
    for (const { metadata, spec, status } of items) {
      const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
      if (metadata.deletionTimestamp !== undefined) {
        await call('DELETE', `${path}?gracePeriodSeconds=0`).catch(() => undefined);
      } else if (spec.nodeName !== undefined && status.phase === 'Pending') {
        const isDone = metadata.labels?.['batch.kubernetes.io/job-name'] !== undefined;
        const conditions = [{ type: 'Ready', status: isDone ? 'False' : 'True' }];
        const reached = { phase: isDone ? 'Succeeded' : 'Running', conditions };
        await call('PATCH', `${path}/status`, { status: reached }).catch(() => undefined);
      }
    }
    await sleep(100, undefined, { signal }).catch(() => undefined);
  }
}

/** A key for service accounts, and a user of the group that may do everything. */
async function credentials(data: string, port: number) {
  const file = (name: string): string => join(data, name);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const token = randomBytes(24).toString('hex');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  };
  const room = { cpu: 32, memory: '256Gi', pods: 110 };
  const node = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { allocatable: room, capacity: room, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const nodes = { apiVersion: 'v1', kind: 'List', items: [node('node-a'), node('node-b')] };
  await Promise.all([
    writeFile(file('key.pem'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 }),
    writeFile(file('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 }),
    // JSON is YAML.
    writeFile(file('kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 }),
    writeFile(file('nodes.json'), JSON.stringify(nodes)),
  ]);
  return {
    token,
    key: file('key.pem'),
    tokens: file('tokens.csv'),
    kubeconfig: file('kubeconfig'),
    nodes: file('nodes.json'),
  };
}
