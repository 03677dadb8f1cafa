/** Blue-green deployment: a new version replaces the old one while clients send requests, and a failure restores the old one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, deleted, resourcesOfStack, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 2 });
});
afterAll(() => server?.dispose());

/** A server of one version on its own port. It finishes its requests before it ends. */
const tier = (program: string, output: string): string => `#!/bin/sh
set -eu
folder="$HOME/$deploy_resource_name-$DEPLOY_VERSION"
if [ "$deploy_action" = DELETE ]; then
  [ -f "$folder/pid" ] && kill "$(cat "$folder/pid")" 2> /dev/null || true
  rm -rf "$folder"
  exit 0
fi
mkdir -p "$folder"
cd "$folder"
printf '%s' "\${BACKEND_ADDR:-}" > backend.new && mv backend.new backend
if [ ! -f pid ]; then
  cat > server.mjs <<'PROGRAM'
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const version = process.env.DEPLOY_VERSION;
const server = createServer(async (request, response) => {
  ${program}
});
process.on('SIGTERM', () => server.close(() => process.exit(0)));
server.listen(0, process.env.HOST_ADDRESS || '127.0.0.1', () => {
  const { address, port } = server.address();
  writeFileSync('address.new', address + ':' + port);
  renameSync('address.new', 'address');
});
PROGRAM
  nohup setsid node server.mjs > log 2>&1 < /dev/null &
  echo $! > pid
  until [ -s address ]; do sleep 0.05; done
fi
cat address > "$heat_outputs_path.${output}"
`;
const backend = tier('response.end(JSON.stringify({ version, pid: process.pid }));', 'host_and_port');
const frontend = tier(
  `const address = readFileSync('backend', 'utf8');
  try {
    const answer = await fetch('http://' + address, { headers: { connection: 'close' } });
    response.end(JSON.stringify({ version, backend: await answer.json() }));
  } catch (error) {
    response.statusCode = 502;
    response.end(String(error));
  }`,
  'address',
);

type Kind = 'named' | 'replace_on_change';

const template = (kind: Kind, { test }: { test?: string } = {}): string => `heat_template_version: 2018-08-31
parameters:
  backend_version: {type: string, default: b1}
  frontend_version: {type: string, default: f1}
resources:
  one: {type: OS::Nova::Server, properties: {flavor: baremetal}}
  two: {type: OS::Nova::Server, properties: {flavor: baremetal}}
  backend_software:
    type: OS::Heat::SoftwareComponent
    properties:
      inputs: [{name: DEPLOY_VERSION${kind === 'replace_on_change' ? ', replace_on_change: true' : ''}}]
      outputs: [{name: host_and_port}]
      configs: [{actions: [CREATE, UPDATE, DELETE], tool: script, config: {get_file: backend.sh}}]
  frontend_software:
    type: OS::Heat::SoftwareComponent
    properties:
      inputs: [{name: DEPLOY_VERSION}, {name: BACKEND_ADDR}]
      outputs: [{name: address}]
      configs: [{actions: [CREATE, UPDATE, DELETE], tool: script, config: {get_file: frontend.sh}}]
  backend:
    type: OS::Heat::SoftwareDeployment
    properties:
      ${kind === 'named' ? 'name: {get_param: backend_version}' : ''}
      config: {get_resource: backend_software}
      server: {get_resource: one}
      input_values: {DEPLOY_VERSION: {get_param: backend_version}}
  frontend:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: frontend_software}
      server: {get_resource: two}
      input_values:
        DEPLOY_VERSION: {get_param: frontend_version}
        BACKEND_ADDR: {get_attr: [backend, host_and_port]}
${
  test === undefined
    ? ''
    : `  test:
    type: OS::Heat::OrderedConfig
    depends_on: frontend
    properties:
      hosted_on: {get_resource: two}
      script: |
        #!/bin/sh
        ${test}
`
}outputs:
  address: {value: {get_attr: [frontend, address]}}
  backend: {value: {get_attr: [backend, host_and_port]}}
`;
const files = { 'backend.sh': backend, 'frontend.sh': frontend };

interface Answer {
  version: string;
  backend: { version: string; pid: number };
}

async function outputOf(stack: string, key: string): Promise<string> {
  const { output_value: value } = await server.client.stacks.output({ stack, key });
  if (typeof value !== 'string') throw new Error(`the output ${key} of ${stack} is ${JSON.stringify(value)}`);
  return value;
}

async function ask(address: string): Promise<Answer> {
  const response = await fetch(`http://${address}`, { headers: { connection: 'close' } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

/** Sends ten requests a second until it is stopped. Returns every answer and every error. */
function client(address: string) {
  const answers: Answer[] = [];
  const errors: unknown[] = [];
  const stopped = new AbortController();
  const askOnce = (): Promise<unknown> =>
    ask(address).then(
      (answer) => answers.push(answer),
      (error: unknown) => errors.push(error),
    );
  const run = (async () => {
    while (!stopped.signal.aborted) {
      await askOnce();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // The caller has seen the end of the update, so the last answer is that of the new version.
    await askOnce();
  })();
  return {
    async stop() {
      stopped.abort();
      await run;
      return {
        versions: [...new Set(answers.map(({ version, backend: { version: b } }) => `${version} ${b}`))],
        errors,
      };
    },
  };
}

describe.each(['named', 'replace_on_change'] as const)('a replaced back end (%s)', (kind) => {
  it('causes no error in its front end, and is restored when the test of the new one fails', async () => {
    const stack = kind.replaceAll('_', '-');
    const create = { name: stack, bundle: bundle(template(kind), files) };
    await server.client.stacks.create(create);
    expect(await settled(server, stack)).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
    const address = await outputOf(stack, 'address');
    const first = await outputOf(stack, 'backend');

    const updating = client(address);
    await server.client.stacks.update({ stack, existing: true, parameters: { backend_version: 'b2' } });
    expect(await settled(server, stack)).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    expect(await outputOf(stack, 'backend')).not.toBe(first);
    expect(await ask(address)).toMatchObject({ version: 'f1', backend: { version: 'b2' } });
    expect(await updating.stop()).toEqual({ versions: ['f1 b1', 'f1 b2'], errors: [] });
    await expect(ask(first)).rejects.toThrow('fetch failed');

    const before = { backend: await outputOf(stack, 'backend'), answer: await ask(address) };
    const resources = await resourcesOfStack(server, stack);
    const failing = client(address);
    await server.client.stacks.update({
      stack,
      bundle: bundle(template(kind, { test: 'echo the new one is not good >&2; exit 3' }), files),
      parameters: { backend_version: 'b3' },
      onFailure: 'rollback',
    });
    const ended = await settled(server, stack);
    expect(ended.stack_status, ended.stack_status_reason ?? '').toBe('ROLLBACK_COMPLETE');
    expect((await failing.stop()).errors).toEqual([]);
    expect({ backend: await outputOf(stack, 'backend'), answer: await ask(address) }).toEqual(before);
    const after = await resourcesOfStack(server, stack);
    expect([...after.keys()].toSorted()).toEqual([...resources.keys()].toSorted());
    for (const [name, { physical_resource_id: id }] of resources)
      expect(after.get(name)?.physical_resource_id).toBe(id);
    const events = await server.client.stacks.events({ stack });
    // The failure shows the output of the script.
    expect(JSON.stringify(events)).toContain('the new one is not good');

    await server.client.stacks.delete({ stack });
    await deleted(server, stack);
  });
});
