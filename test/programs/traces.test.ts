/**
 * Traces in the real OpenTelemetry Collector: one trace spans a request of a client, all services, and the answers of the
 * host, and the product works while the collector is away. Go builds the collector from its modules.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import { findMongodb } from '../backends/mongodb.ts';
import { findNats } from '../backends/nats.ts';
import { cacheFolder, findProgram } from '../backends/program.ts';
import { logInOverHttp } from '../e2e/log-in.ts';
import { settled, startServer, type TestServer } from '../e2e/server.ts';

const run = promisify(execFile);
const version = 'v0.139.0';
/** A cold build downloads and compiles the modules of the collector. */
const buildMs = 400_000;

const collector = await findCollector().catch((error: unknown) => {
  process.stderr.write(`Skipped: traces. The collector cannot be built: ${String(error).slice(0, 300)}\n`);
});

async function findCollector(): Promise<string> {
  const name = `otelcol-${version}`;
  const cache = cacheFolder();
  const found = await findProgram(name, [cache]);
  if (found !== undefined) return found;
  const go = await findProgram('go');
  if (go === undefined) throw new Error('there is no go on the PATH');
  const folder = await mkdtemp(join(tmpdir(), 'anneal-collector-'));
  try {
    const config = join(folder, 'builder.yaml');
    const modules = {
      dist: { name: 'otelcol', version: version.slice(1), output_path: 'out' },
      receivers: [{ gomod: `go.opentelemetry.io/collector/receiver/otlpreceiver ${version}` }],
      exporters: [
        { gomod: `github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter ${version}` },
      ],
    };
    // JSON is YAML.
    await writeFile(config, JSON.stringify(modules));
    const builder = `go.opentelemetry.io/collector/cmd/builder@${version}`;
    await run(go, ['run', builder, '--config', config], {
      cwd: folder,
      timeout: buildMs,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
    });
    await mkdir(cache, { recursive: true });
    const program = join(cache, name);
    await copyFile(join(folder, 'out', 'otelcol'), `${program}.${process.pid}`);
    await rename(`${program}.${process.pid}`, program);
    return program;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}
interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
}
interface Line {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'attributes' | 'service'> & { attributes?: readonly Attribute[] })[];
    }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

/** The spans that the collector wrote so far. */
async function spansIn(file: string): Promise<Span[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return lines
    .flatMap((line) => (JSON.parse(line) as Line).resourceSpans)
    .flatMap(({ resource, scopeSpans }) => {
      const service = String(valuesOf(resource.attributes)['service.name']);
      return scopeSpans
        .flatMap(({ spans }) => spans)
        .map((span) => ({ ...span, service, attributes: valuesOf(span.attributes) }));
    });
}

const secret = 'hunter2-is-in-no-span';
const template = {
  heat_template_version: '2018-08-31',
  parameters: { password: { type: 'string', hidden: true } },
  resources: {
    server: { type: 'OS::Nova::Server', properties: { image: 'debian-12', flavor: 'baremetal' } },
    first: {
      type: 'OS::Heat::OrderedConfig',
      properties: {
        hosted_on: { get_resource: 'server' },
        input_values: { PASSWORD: { get_param: 'password' } },
        outputs: [{ name: 'port' }],
        script: '#!/bin/sh\nprintf 5432 > "$heat_outputs_path.port"\n',
      },
    },
    second: {
      type: 'OS::Heat::OrderedConfig',
      properties: {
        hosted_on: { get_resource: 'server' },
        input_values: { PORT: { get_attr: ['first', 'port'] } },
        script: '#!/bin/sh\necho "$PORT"\n',
      },
    },
  },
};

async function createStack(server: TestServer, name: string, traceId = newTrace()): Promise<number> {
  const { token, project } = await logInOverHttp(server);
  const { status } = await fetch(`${server.url}/orchestration/v1/${project}/stacks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-auth-token': token,
      traceparent: `00-${traceId}-${clientSpan}-01`,
    },
    body: JSON.stringify({ stack_name: name, template, parameters: { password: secret } }),
  });
  return status;
}

const clientSpan = 'b7ad6b7169203331';
const newTrace = (): string => crypto.randomUUID().replaceAll('-', '');

/** One server with one process or one per service, and a collector. */
class Installation {
  server!: TestServer;
  file = '';
  readonly #folder = mkdtemp(join(tmpdir(), 'anneal-traces-'));
  readonly #stops: (() => unknown)[] = [];
  #port = 0;
  #process: ChildProcess | undefined;
  #silent: Server | undefined;
  readonly #sockets = new Set<Socket>();

  async open(separate: boolean): Promise<void> {
    this.file = join(await this.#folder, 'traces.json');
    this.#port = await freeLocalPort();
    await this.startCollector();
    this.server = await startServer({
      lab: 1,
      flags: separate ? ['--separate', ...(await this.#backends())] : [],
      env: {
        ANNEAL_OTLP_ENDPOINT: `http://127.0.0.1:${this.#port}/v1/traces`,
        // The SDK's setting: how long spans wait for others.
        OTEL_BSP_SCHEDULE_DELAY: '200',
      },
    });
    this.#stops.push(() => this.server.dispose());
  }

  async #backends(): Promise<string[]> {
    const [broker, database] = await Promise.all([findNats(), findMongodb()]);
    if ('missing' in broker) throw new Error(broker.missing);
    if ('missing' in database) throw new Error(database.missing);
    this.#stops.push(
      () => broker.stop(),
      () => database.stop(),
    );
    return ['--bus', broker.url, '--store', database.url];
  }

  async startCollector(): Promise<void> {
    const config = join(await this.#folder, 'collector.yaml');
    const settings = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${this.#port}` } } } },
      exporters: { file: { path: this.file, append: true, flush_interval: '200ms' } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
      },
    };
    // JSON is YAML.
    await writeFile(config, JSON.stringify(settings));
    let said = '';
    const started = spawn(String(collector), ['--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
    started.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    this.#process = started;
    await eventually(async () => said.includes('Everything is ready') || undefined, {
      what: 'the collector being ready',
      last: () => said,
    });
  }

  async stopCollector(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    running.kill('SIGTERM');
    await once(running, 'exit');
  }

  /** Takes connections at the address of the collector and never answers. */
  async startSilence(): Promise<void> {
    this.#silent = createServer((socket) => this.#sockets.add(socket)).listen(this.#port, '127.0.0.1');
    await once(this.#silent, 'listening');
  }

  async endSilence(): Promise<void> {
    const silent = this.#silent;
    this.#silent = undefined;
    if (silent === undefined) return;
    const closed = once(silent, 'close');
    silent.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
    await this.endSilence();
    await this.stopCollector();
    await rm(await this.#folder, { recursive: true, force: true });
  }
}

describe.skipIf(collector === undefined).each([
  { form: 'one process', separate: false },
  { form: 'one process per service on NATS and MongoDB', separate: true },
])('traces of $form', ({ separate }) => {
  const installation = new Installation();
  beforeAll(() => installation.open(separate), 300_000);
  afterAll(() => installation.close());

  const traceOf = (traceId: string, wanted: readonly string[]): Promise<Span[]> => {
    let seen: string[] = [];
    return eventually(
      async () => {
        const spans = (await spansIn(installation.file)).filter((span) => span.traceId === traceId);
        seen = spans.map(({ name }) => name);
        const ids = new Set(spans.map(({ spanId }) => spanId));
        const isWhole = spans.every(({ parentSpanId = '' }) => parentSpanId === clientSpan || ids.has(parentSpanId));
        return isWhole && wanted.every((name) => seen.includes(name)) ? spans : undefined;
      },
      { what: `trace ${traceId} being whole`, last: () => ({ seen, wanted }) },
    );
  };

  it('continues the trace of a client to the answers of the host, and contains no secret', async () => {
    const { server } = installation;
    const traceId = newTrace();
    expect(await createStack(server, 'traced', traceId)).toBe(201);
    const stack = await settled(server, 'traced');
    expect(stack.stack_status).toBe('CREATE_COMPLETE');
    const spans = await traceOf(traceId, [
      'POST /orchestration/v1/:project/stacks',
      'process template.compile',
      'process stack.create',
      'process resource.create',
      'process resource.response',
      'process deployment.completed',
      'process stack.create.completed',
    ]);
    const root = spans.find(({ parentSpanId }) => parentSpanId === clientSpan);
    expect(root).toMatchObject({
      name: 'POST /orchestration/v1/:project/stacks',
      attributes: { 'http.route': '/orchestration/v1/:project/stacks', 'http.response.status_code': '201' },
    });
    // Three requests, and at least one final response to each, are in this trace and not in those of the host.
    const countOf = (name: string): number => spans.filter((span) => span.name === name).length;
    expect(countOf('process resource.create')).toBeGreaterThanOrEqual(3);
    expect(countOf('process resource.response')).toBeGreaterThanOrEqual(3);
    const services = new Set(spans.map(({ service }) => service));
    expect([...services]).toEqual(
      separate
        ? expect.arrayContaining(
            ['gateway', 'templating', 'scheduling', 'provisioning', 'configuration'].map((name) => `anneal-${name}`),
          )
        : ['anneal'],
    );
    const text = await readFile(installation.file, 'utf8');
    for (const hidden of [secret, server.password]) expect(text).not.toContain(hidden);
  });

  it('works while the collector is away or silent, and sends again when it is back', async () => {
    const { server } = installation;
    await installation.stopCollector();
    expect(await createStack(server, 'bad name!')).toBe(400);
    expect((await server.anneal('stack', 'delete', 'traced', '--yes', '--wait')).status).toBe(0);
    await installation.startSilence();
    expect(await createStack(server, 'untraced')).toBe(201);
    expect((await settled(server, 'untraced')).stack_status).toBe('CREATE_COMPLETE');
    await installation.endSilence();
    await installation.startCollector();
    const sent = new Set<string>();
    await eventually(
      async () => {
        const traceId = newTrace();
        sent.add(traceId);
        await fetch(`${server.url}/api/v1/info`, { headers: { traceparent: `00-${traceId}-${clientSpan}-01` } });
        return (await spansIn(installation.file)).some((span) => sent.has(span.traceId)) || undefined;
      },
      { what: 'spans arriving again' },
    );
  });
});
