/** Acts 3 to 6: the stacks. */
import { processesOf } from './children.ts';
import { machines } from './opening.ts';
import { dataOf, inDemo, logOf, machineOf, mustSucceed, perform, print, type Scene } from './scene.ts';
import { claim, heading, quote, say, until } from './stage.ts';

export async function orderedConfigs(scene: Scene): Promise<void> {
  heading('3. Two configs in order on one machine');
  say(
    'A node is claimed, powered on over Redfish and boots; its agent takes configA, then configB from its own queue.',
  );
  await mustSucceed(
    perform(scene, [
      'stack',
      'create',
      'ordered',
      '-t',
      'test/fixtures/ordered-config.yaml',
      '-P',
      'key_name=demo',
      '--wait',
    ]),
  );
  const { stack_status: status } = await scene.client.stacks.show({ stack: 'ordered' });
  claim(status === 'CREATE_COMPLETE', 'the stack is complete', status);
  const machine = await machineOf(scene, 'ordered', 'serv1');
  const log = await logOf(scene, machine);
  say(`The log of ${machine}:`);
  quote(log);
  const places = ['1. hello from marconi', '2. hello from marconi'].map((text) => log.indexOf(text));
  const [first = -1, second = -1] = places;
  claim(first >= 0 && second > first, '"1. hello from marconi" stands before "2. hello from marconi"', log);
  claim(log.split('hello from marconi').length === 3, 'each was said once', log);
  await until({
    fact: 'the listener was told that the stack is complete',
    seconds: 60,
    signal: scene.signal,
    look: () => scene.received.map((event) => `${event.type} ${String(dataOf(event)['stack_name'])}`),
    holds: (seen) => seen.includes('stack.create.completed ordered'),
  });
}

interface Answer {
  version: string;
  config: string;
  backend: { version: string; config: string };
}
async function fetchFrontEnd(scene: Scene): Promise<Answer> {
  const { output_value: url } = await scene.client.stacks.output({ stack: 'shop', key: 'url' });
  claim(typeof url === 'string', 'the stack gives the address of the front end', url);
  const response = await fetch(url, { signal: AbortSignal.any([scene.signal, AbortSignal.timeout(5000)]) });
  const text = await response.text();
  say(`GET ${url} answers ${response.status}:`);
  quote(text);
  claim(response.ok, 'the front end answers', text);
  return JSON.parse(text) as Answer;
}

export async function twoTiers(scene: Scene): Promise<void> {
  heading('4. A back end and a front end on two machines');
  say('The address that the back end’s script reports flows into the front end, wherever both run.');
  await mustSucceed(perform(scene, ['stack', 'create', 'shop', '-t', inDemo('two-tier.yaml'), '--wait']));
  const before = await fetchFrontEnd(scene);
  claim(before.backend.config === 'stock=12' && before.config === 'greeting=hello', 'both have their CONFIG', before);
  const hosts = await Promise.all(
    ['backend_host', 'frontend_host'].map((name) => scene.client.stacks.resource({ stack: 'shop', resource: name })),
  );
  claim(hosts[0]?.physical_resource_id !== hosts[1]?.physical_resource_id, 'they run on two machines', hosts);

  say('');
  say('Now another CONFIG for the front end, and nothing else:');
  const known = await touched(scene);
  const marker = (await scene.client.stacks.events({ stack: 'shop', limit: 1, descending: true })).at(0)?.id;
  const runs = await deployments(scene);
  await mustSucceed(
    perform(scene, ['stack', 'update', 'shop', '--existing', '-P', 'frontend_config=greeting=welcome', '--wait']),
  );
  const after = await fetchFrontEnd(scene);
  claim(after.config === 'greeting=welcome', 'the front end has the new CONFIG', after);
  claim(JSON.stringify(after.backend) === JSON.stringify(before.backend), 'the back end answers as before', after);

  const news = await scene.client.stacks.events({ stack: 'shop', marker, limit: 1000 });
  const names = [...new Set(news.map((event) => event.resource_name))].filter((name) => name !== 'shop');
  claim(names.join() === 'frontend', 'the only resource in the events of the update is frontend', news);
  const now = await touched(scene);
  const changed = Object.keys(now).filter((name) => now[name] !== known[name]);
  claim(changed.join() === 'frontend', 'no other resource was touched', { known, now });
  const later = await deployments(scene);
  claim(
    JSON.stringify(later['backend']) === JSON.stringify(runs['backend']),
    'the deployment of the back end ran once, at its creation',
    { runs, later },
  );
}

/** When each resource was last worked on. */
async function touched(scene: Scene): Promise<Record<string, string>> {
  const resources = await scene.client.stacks.resources({ stack: 'shop' });
  return Object.fromEntries(
    resources.map((one) => [
      one.resource_name,
      [one.physical_resource_id, one.resource_status, one.started_at, one.finished_at].join(' '),
    ]),
  );
}

async function deployments(scene: Scene): Promise<Record<string, unknown>> {
  const { id } = await scene.client.stacks.find({ stack: 'shop' });
  const all = await scene.client.deployments.list({ stack: id });
  return Object.fromEntries(all.map((one) => [one.resource_name, [one.id, one.action, one.started_at, one.version]]));
}

export async function failingConfig(scene: Scene): Promise<void> {
  heading('5. A config that fails: one error, wherever one looks');
  const ended = await perform(scene, ['stack', 'create', 'doomed', '-t', inDemo('failing.yaml'), '--wait']);
  claim(ended.status === 1, 'the command ends with exit status 1', ended);
  const { stdout: shown } = await print(scene, ['stack', 'failures', 'doomed']);
  const wanted = ['migrate', '3', '/srv/database/schema.sql: no such file'];
  claim(
    wanted.every((text) => shown.includes(text)),
    'the error tells the config, the exit status and the standard error',
    shown,
  );
  const { failures } = await scene.client.stacks.show({ stack: 'doomed', outputs: false });
  const details = failures[0]?.failure.details ?? {};
  const machine = await machineOf(scene, 'doomed', 'database_host');
  claim(
    typeof details['host'] === 'string' && shown.includes(details['host']),
    `and the host: ${String(details['host'])}`,
    details,
  );
  const event = await until({
    fact: 'the listener was told of the failure',
    seconds: 60,
    signal: scene.signal,
    look: () => scene.received.find((one) => one.type === 'deployment.failed'),
    holds: (seen) => seen !== undefined,
  });
  say('The event as the listener received it:');
  quote(JSON.stringify(event, null, 2));
  claim(
    JSON.stringify(event).includes('schema.sql: no such file'),
    'the event carries the standard error of the script',
  );
  const log = await logOf(scene, machine);
  claim(!log.includes('must never run'), 'the config that depends on it was not run', log);
}

export async function closing(scene: Scene): Promise<void> {
  heading('6. All stacks deleted');
  const tiers = await Promise.all(
    (['backend', 'frontend'] as const).map(async (name) => ({
      name,
      machine: await machineOf(scene, 'shop', `${name}_host`),
    })),
  );
  const stacks = ['ordered', 'shop', 'doomed'];
  await mustSucceed(perform(scene, ['stack', 'delete', ...stacks, '--wait']));
  const left = await scene.client.stacks.list();
  claim(left.length === 0, 'no stack is left', left);
  for (const { name, machine } of tiers) {
    const log = await logOf(scene, machine);
    claim(log.includes(`${name} stopped`), `the DELETE config of the ${name} ran on ${machine}`, log);
  }
  const nodes = await until({
    fact: 'all nodes are cleaned, powered off and available',
    seconds: 120,
    signal: scene.signal,
    look: async () =>
      (await scene.client.nodes.list()).map((node) => ({
        name: node.name,
        state: node.provision_state,
        power: node.power_state,
        server: node.instance_uuid,
      })),
    holds: (seen) =>
      seen.every(({ state, power, server }) => state === 'available' && power === 'power off' && server === null),
  });
  await print(scene, ['node', 'list']);
  claim(nodes.length === machines, 'all nodes are cleaned, powered off and available again');
  await until({
    fact: 'the listener was told of every deletion',
    seconds: 60,
    signal: scene.signal,
    look: () =>
      scene.received
        .filter(({ type }) => type === 'stack.delete.completed')
        .map((event) => dataOf(event)['stack_name']),
    holds: (seen) => stacks.every((name) => seen.includes(name)),
  });
  claim(scene.refused() === 0, `the listener verified ${scene.received.length} deliveries and refused none`);
}

export async function nothingLeft(dataDirectory: string, signal: AbortSignal): Promise<void> {
  const left = await until({
    fact: 'every process of the demo has ended',
    seconds: 60,
    signal,
    look: () => processesOf(dataDirectory),
    holds: (seen) => seen.length === 0,
  });
  claim(left.length === 0, 'nothing is left running');
}
