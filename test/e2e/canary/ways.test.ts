/**
 * Secrets, each passed in a different way, some into the text of an error, and a search for them in everything that clients and operators can read: every GET
 * of every API, every file of the data folder except the files of the machines, every file of the test's broker and database,
 * the log, every event and every webhook.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
import { filesOf, createApiReader, heat, leaksIn, listenForWebhooks, type ApiReader } from './search.ts';

const secretOf = (way: string): string => `canary-${way}-4711-in-the-clear`;
const ways = [
  'parameter',
  'file',
  'default',
  'inner',
  'list',
  'json',
  'password',
  'webhook',
  'updated',
  'metadata',
  'big',
];

const inner = `heat_template_version: 2018-08-31
parameters:
  plain: {type: string}
  made: {type: string}
  shared: {type: string, default: none}
  inner: {type: string, hidden: true, default: none}
resources:
  v: {type: OS::Heat::Value, properties: {value: {get_param: plain}}, metadata: {password: {get_param: made}}}
  w: {type: OS::Heat::Value, properties: {value: {list_join: ['-', [{get_param: shared}, {get_param: inner}]]}}}
outputs:
  both: {value: {get_attr: [w, value]}}
`;
const template = `heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true}
  filed: {type: string, hidden: true}
  shared: {type: string, hidden: true}
  list: {type: comma_delimited_list, hidden: true}
  map: {type: json, hidden: true}
  big: {type: string, hidden: true}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: secret}}}
  text: {type: OS::Heat::Value, properties: {value: {str_replace: {template: 'x=$P', params: {$P: {get_param: filed}}}}}}
  listed: {type: OS::Heat::Value, properties: {value: {list_join: [';', {get_param: list}]}}}
  mapped: {type: OS::Heat::Value, properties: {type: json, value: {map_merge: [{get_param: map}, {more: 1}]}}}
  random: {type: OS::Heat::RandomString}
  handle: {type: OS::Heat::WaitConditionHandle}
  address: {type: AWS::CloudFormation::WaitConditionHandle}
  scaled:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 2, resource: {type: OS::Heat::Value, properties: {value: x}}}
  policy:
    type: OS::Heat::ScalingPolicy
    properties:
      {adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: scaled}, scaling_adjustment: 1}
  one:
    type: inner.yaml
    properties:
      plain: {get_attr: [text, value]}
      made: {yaql: {expression: '$.data + "!"', data: {get_param: secret}}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: inner.yaml
        properties: {plain: {get_param: secret}, made: {get_attr: [listed, value]}}
  values:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Heat::Value, properties: {value: {get_param: filed}}}
  config:
    type: OS::Heat::SoftwareConfig
    properties: {config: {str_replace: {template: 'echo $P', params: {$P: {get_param: secret}}}}}
  server: {type: OS::Heat::DeployedServer, properties: {name: one}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: config}
      server: {get_resource: server}
      signal_transport: NO_SIGNAL
      input_values: {password: {get_param: filed}, map: {get_param: map}}
outputs:
  random: {value: {get_attr: [random, value]}}
  token: {value: {get_attr: [handle, token]}}
  address: {value: {get_resource: address}}
  alarm: {value: {get_attr: [policy, alarm_url]}}
  big: {value: {get_param: big}}
`;

/** Secrets that an error could quote: of a script, an evaluation, a BMC, a provider. */
const quotedWays = ['input', 'word', 'evaluated', 'refused', 'echoed', 'property', 'address'];
const failingScript = `heat_template_version: 2018-08-31
parameters:
  input: {type: string, hidden: true}
  word: {type: string, hidden: true}
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
  config:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      input_values: {SECRET: {get_param: input}}
      outputs: [{name: out}]
      script:
        str_replace:
          params: {$WORD: {get_param: word}}
          template: |
            #!/bin/sh
            echo "printed $SECRET"
            echo "reported $SECRET" >&2
            printf %s "$SECRET" > "$heat_outputs_path.out"
            $WORD --now
            exit 3
`;
const failingEvaluation = `heat_template_version: 2018-08-31
parameters: {evaluated: {type: string, hidden: true}}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: evaluated}}}
  typed: {type: OS::Heat::TestResource, properties: {wait_secs: {get_attr: [value, value]}}}
outputs:
  split: {value: {str_split: [',', 'a', {get_attr: [value, value]}]}}
`;
const failingParameter = `heat_template_version: 2018-08-31
parameters: {refused: {type: string, hidden: true}}
resources: {typed: {type: OS::Heat::TestResource, properties: {wait_secs: {get_param: refused}}}}
`;
const failingProvider = `heat_template_version: 2018-08-31
parameters: {property: {type: string, hidden: true}}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: property}}}
  server: {type: OS::Nova::Server, properties: {image: {get_attr: [value, value]}, flavor: any}}
`;

let server: TestServer;
let listener: Awaited<ReturnType<typeof listenForWebhooks>>;
let reader: ApiReader;
/** A BMC that quotes the credentials that it was given. */
let bmc: Server;
beforeAll(async () => {
  listener = await listenForWebhooks();
  bmc = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { authorization = '' } = request.headers;
      const password = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
      const message = `no login with ${authorization} ${password} ${body}`;
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
    });
  });
  await new Promise<void>((resolve) => bmc.listen(0, '127.0.0.1', resolve));
  server = await startServer({ lab: 1, env: { ANNEAL_LOG_LEVEL: 'trace' } });
  reader = createApiReader(server);
});
afterAll(async () => {
  await server?.dispose();
  listener?.close();
  bmc?.close();
});

const inputOf = (secret: string) => ({
  template,
  files: {
    'inner.yaml': inner,
    'env.yaml': `parameters: {filed: ${secretOf('file')}}\n`,
    'more.json': JSON.stringify({
      parameters: { map: { deep: [secretOf('json')] } },
      parameter_defaults: { shared: secretOf('default'), inner: secretOf('inner') },
    }),
  },
  environment_files: ['env.yaml', 'more.json'],
  parameters: {
    secret: secretOf(secret),
    list: `a,${secretOf('list')}`,
    // Answers with this value are too large for a message and go through the blob store.
    big: secretOf('big').repeat(12_000),
  },
});

/** Makes errors that could quote a secret. Returns the texts of the answers. */
async function provokeErrors(): Promise<string> {
  const { call, done } = reader;
  const fail = async (name: string, failing: string, names: readonly string[]): Promise<void> => {
    const parameters = Object.fromEntries(names.map((each) => [each, secretOf(each)]));
    await done('POST', `${heat}/stacks`, { stack_name: name, template: failing, parameters });
    expect(await settled(server, name)).toMatchObject({ stack_status: 'CREATE_FAILED' });
  };
  await fail('script', failingScript, ['input', 'word']);
  await fail('evaluation', failingEvaluation, ['evaluated']);
  await fail('provider', failingProvider, ['property']);
  const parameters = { refused: secretOf('refused') };
  const node = (address: string) => ({
    name: 'echo',
    driver: 'redfish',
    driver_info: { redfish_address: address, redfish_username: 'admin', redfish_password: secretOf('echoed') },
  });
  const { port } = bmc.address() as AddressInfo;
  const replies = [
    await call('POST', `${heat}/stacks`, { stack_name: 'refused', template: failingParameter, parameters }),
    await call('POST', '/baremetal/v1/nodes', node(`http://admin:${secretOf('address')}@127.0.0.1:${port}`)),
    await call('POST', '/baremetal/v1/nodes', node(`http://127.0.0.1:${port}`)),
    await call('PUT', '/baremetal/v1/nodes/echo/states/provision', { target: 'manage' }),
    await call('PATCH', '/baremetal/v1/nodes/echo', [
      { op: 'replace', path: '/driver_info/redfish_address', value: `http://${secretOf('address')}@127.0.0.1:${port}` },
    ]),
  ];
  expect(replies.map(({ status }) => status)).toEqual([400, 400, 201, 202, 400]);
  const refused = await eventually(
    async () => {
      const text = (await call('GET', '/baremetal/v1/nodes/echo')).text;
      return text.includes('refused the credentials') ? text : undefined;
    },
    { what: 'the error of the BMC' },
  );
  return [...replies.map(({ text }) => text), refused].join('\n');
}

it('no client can read a secret, in whatever way it was passed', async () => {
  const { done } = reader;
  await reader.login();
  await done('POST', '/api/v1/subscriptions', {
    url: listener.url,
    secret: `whsec_${Buffer.from(secretOf('webhook')).toString('base64')}`,
  });
  await done('POST', '/baremetal/v1/nodes', {
    name: 'spare',
    driver: 'redfish',
    driver_info: {
      redfish_address: 'http://127.0.0.1:9',
      redfish_system_id: '/redfish/v1/Systems/1',
      redfish_username: 'admin',
      redfish_password: secretOf('password'),
    },
  });

  await done('POST', `${heat}/stacks/preview`, { stack_name: 'canary', ...inputOf('parameter') });
  await done('POST', `${heat}/stacks`, { stack_name: 'canary', ...inputOf('parameter') });
  expect(await settled(server, 'canary')).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
  await done('POST', `${heat}/stacks/canary/snapshots`.replace('stacks/canary', await pathOf()), { name: 'before' });
  await settled(server, 'canary');
  await done('PUT', `${heat}/${await pathOf()}/preview`, inputOf('updated'));
  await done('PUT', `${heat}/${await pathOf()}`, inputOf('updated'));
  expect(await settled(server, 'canary')).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });

  const errors = await provokeErrors();
  const hosts = (await done('GET', '/api/v1/hosts')) as unknown as { hosts: { id: string }[] };
  const renewed = await done('POST', `/api/v1/hosts/${hosts.hosts.at(-1)?.id}/token`, {});
  const secrets = new Map([...ways, ...quotedWays].map((way) => [way, secretOf(way)]));
  expect(leaksIn(errors, secrets), 'errors').toEqual([]);
  secrets.set('token of the user', reader.token());
  secrets.set('token of a host', String(renewed['token']));
  secrets.set('password of the user', server.password);
  const { outputs = [] } = await server.client.stacks.show({ stack: 'canary', outputs: true });
  const shown = new Map(outputs.map(({ output_key: key, output_value: value }) => [key, value as string]));
  expect(shown.get('big')).toBe(secretOf('big').repeat(12_000));
  const addresses = ['address', 'alarm'].map((key) => new URL(shown.get(key) ?? '').searchParams.get('Signature'));
  const [address, alarm] = addresses.map(String);
  secrets.set('token of a handle', shown.get('token') ?? '');
  secrets.set('signature of a handle', address ?? '');
  secrets.set('signature of a policy', alarm ?? '');
  // A client with the address can signal, so the log contains the path of a request without the signature.
  const signal = { Status: 'SUCCESS', Reason: 'r', Data: 'd', UniqueId: 'u' };
  const signalled = await fetch(shown.get('address') ?? '', { method: 'PUT', body: JSON.stringify(signal) });
  expect(signalled.status).toBe(200);

  await eventually(() => (listener.delivered.length > 20 ? true : undefined), { what: 'webhooks' });
  const read = await reader.readings(['spare', 'echo']);
  expect(read.size).toBeGreaterThan(60);
  // A user who may signal a handle reads how in its attributes, as in Heat, and nowhere else.
  const openAt = /\/resources\/(?:handle|address)$/;
  const opened = new Set(['token of a handle', 'signature of a handle']);
  for (const [path, text] of read) {
    const leaks = leaksIn(text, secrets).filter((name) => !(openAt.test(path) && opened.has(name)));
    expect.soft(leaks, path).toEqual([]);
  }
  // The attribute of a random string is readable, as in Heat; but must not be in logs and webhooks.
  const hidden = new Map([...secrets, ['random string', shown.get('random') ?? '']]);
  expect(hidden.get('random string')).toHaveLength(32);
  expect(leaksIn(listener.delivered.join('\n'), hidden), 'webhooks').toEqual([]);
  expect(leaksIn(server.log(), hidden), 'the log').toEqual([]);
  const contents = [server.data, ...server.backends].flatMap(filesOf);
  // The search works: it finds the name of the stack, which is not secret.
  expect(contents.some(([, text]) => text.includes('"canary"'))).toBe(true);
  for (const [path, text] of contents) {
    if (!path.endsWith('credentials.json')) expect.soft(leaksIn(text, secrets), path).toEqual([]);
  }
});

async function pathOf(): Promise<string> {
  const { stack_name: name, id } = await server.client.stacks.show({ stack: 'canary' });
  return `stacks/${name}/${id}`;
}
