/** Steps 3 to 6: create, update, fail and delete stacks. */
import { childrenOf } from './children.ts';
import { machines } from './start.ts';
import { dataOf, inDemo, logOf, machineOf, mustSucceed, runLive, runAndPrint, type DemoContext } from './context.ts';
import { check, heading, reportQuote, say, untilFact } from './report.ts';

export async function orderedConfigs(demo: DemoContext): Promise<void> {
  heading('3. Two configs in order on one machine');
  say(
    'Anneal claims a node and powers it on over Redfish. The machine boots; its agent takes configA, then configB from its queue.',
  );
  await mustSucceed(
    runLive(demo, [
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
  const { stack_status: status } = await demo.client.stacks.show({ stack: 'ordered' });
  check(status === 'CREATE_COMPLETE', 'the stack is complete', status);
  const machine = await machineOf(demo, 'ordered', 'serv1');
  const log = await logOf(demo, machine);
  say(`The log of ${machine}:`);
  reportQuote(log);
  const positions = ['1. hello from marconi', '2. hello from marconi'].map((text) => log.indexOf(text));
  const [first = -1, second = -1] = positions;
  check(first >= 0 && second > first, '"1. hello from marconi" is before "2. hello from marconi"', log);
  check(log.split('hello from marconi').length === 3, 'each text occurs once', log);
  await untilFact({
    fact: 'the listener received the completion of the stack',
    seconds: 60,
    signal: demo.signal,
    look: () => demo.received.map((event) => `${event.type} ${String(dataOf(event)['stack_name'])}`),
    holds: (seen) => seen.includes('stack.create.completed ordered'),
  });
}

interface Answer {
  version: string;
  config: string;
  backend: { version: string; config: string };
}
async function fetchFrontEnd(demo: DemoContext): Promise<Answer> {
  const { output_value: url } = await demo.client.stacks.output({ stack: 'shop', key: 'url' });
  check(typeof url === 'string', 'the stack has the address of the front end as output', url);
  const response = await fetch(url, { signal: AbortSignal.any([demo.signal, AbortSignal.timeout(5000)]) });
  const text = await response.text();
  say(`GET ${url} answers ${response.status}:`);
  reportQuote(text);
  check(response.ok, 'the front end answers', text);
  return JSON.parse(text) as Answer;
}

export async function twoTiers(demo: DemoContext): Promise<void> {
  heading('4. A back end and a front end on two machines');
  say('The script of the back end reports an address, which becomes an input of the front end.');
  await mustSucceed(runLive(demo, ['stack', 'create', 'shop', '-t', inDemo('two-tier.yaml'), '--wait']));
  const before = await fetchFrontEnd(demo);
  check(
    before.backend.config === 'stock=12' && before.config === 'greeting=hello',
    'both have their CONFIG values',
    before,
  );
  const hosts = await Promise.all(
    ['backend_host', 'frontend_host'].map((name) => demo.client.stacks.resource({ stack: 'shop', resource: name })),
  );
  check(hosts[0]?.physical_resource_id !== hosts[1]?.physical_resource_id, 'they run on two machines', hosts);

  say('');
  say('Change only the CONFIG of the front end:');
  const known = await touched(demo);
  const marker = (await demo.client.stacks.events({ stack: 'shop', limit: 1, descending: true })).at(0)?.id;
  const runs = await deployments(demo);
  await mustSucceed(
    runLive(demo, ['stack', 'update', 'shop', '--existing', '-P', 'frontend_config=greeting=welcome', '--wait']),
  );
  const after = await fetchFrontEnd(demo);
  check(after.config === 'greeting=welcome', 'the front end has the new CONFIG', after);
  check(JSON.stringify(after.backend) === JSON.stringify(before.backend), 'the back end answers as before', after);

  const newEvents = await demo.client.stacks.events({ stack: 'shop', marker, limit: 1000 });
  const names = [...new Set(newEvents.map((event) => event.resource_name))].filter((name) => name !== 'shop');
  check(names.join() === 'frontend', 'the only resource in the events of the update is frontend', newEvents);
  const now = await touched(demo);
  const changed = Object.keys(now).filter((name) => now[name] !== known[name]);
  check(changed.join() === 'frontend', 'no other resource changed', { known, now });
  const later = await deployments(demo);
  check(
    JSON.stringify(later['backend']) === JSON.stringify(runs['backend']),
    'the deployment of the back end ran once, at its creation',
    { runs, later },
  );
}

/** The last action of each resource: status and times. */
async function touched(demo: DemoContext): Promise<Record<string, string>> {
  const resources = await demo.client.stacks.resources({ stack: 'shop' });
  return Object.fromEntries(
    resources.map((one) => [
      one.resource_name,
      [one.physical_resource_id, one.resource_status, one.started_at, one.finished_at].join(' '),
    ]),
  );
}

async function deployments(demo: DemoContext): Promise<Record<string, unknown>> {
  const { id } = await demo.client.stacks.find({ stack: 'shop' });
  const all = await demo.client.deployments.list({ stack: id });
  return Object.fromEntries(all.map((one) => [one.resource_name, [one.id, one.action, one.started_at]]));
}

export async function failingConfig(demo: DemoContext): Promise<void> {
  heading('5. A config fails: the command, the API and the event show the same error');
  const ended = await runLive(demo, ['stack', 'create', 'broken', '-t', inDemo('failing.yaml'), '--wait']);
  check(ended.status === 1, 'the command ends with exit status 1', ended);
  const { stdout: shown } = await runAndPrint(demo, ['stack', 'failures', 'broken']);
  const expected = ['migrate', '3', '/srv/database/schema.sql: no such file'];
  check(
    expected.every((text) => shown.includes(text)),
    'the error names the config, the exit status and the standard error',
    shown,
  );
  const { failures } = await demo.client.stacks.show({ stack: 'broken', outputs: false });
  const details = failures[0]?.failure.details ?? {};
  const machine = await machineOf(demo, 'broken', 'database_host');
  check(
    typeof details['host'] === 'string' && shown.includes(details['host']),
    `and the host: ${String(details['host'])}`,
    details,
  );
  const event = await untilFact({
    fact: 'the listener received the failure',
    seconds: 60,
    signal: demo.signal,
    look: () => demo.received.find((one) => one.type === 'deployment.failed'),
    holds: (seen) => seen !== undefined,
  });
  say('The event as the listener received it:');
  reportQuote(JSON.stringify(event, null, 2));
  check(
    JSON.stringify(event).includes('schema.sql: no such file'),
    'the event carries the standard error of the script',
  );
  const log = await logOf(demo, machine);
  check(!log.includes('must never run'), 'the config that depends on it did not run', log);
}

export async function deleteStacks(demo: DemoContext): Promise<void> {
  heading('6. Delete all stacks');
  const tiers = await Promise.all(
    (['backend', 'frontend'] as const).map(async (name) => ({
      name,
      machine: await machineOf(demo, 'shop', `${name}_host`),
    })),
  );
  const stacks = ['ordered', 'shop', 'broken'];
  await mustSucceed(runLive(demo, ['stack', 'delete', ...stacks, '--wait']));
  const left = await demo.client.stacks.list();
  check(left.length === 0, 'no stack is left', left);
  for (const { name, machine } of tiers) {
    const log = await logOf(demo, machine);
    check(log.includes(`${name} stopped`), `the DELETE config of the ${name} ran on ${machine}`, log);
  }
  const nodes = await untilFact({
    fact: 'all nodes are cleaned, powered off and available',
    seconds: 120,
    signal: demo.signal,
    look: async () =>
      (await demo.client.nodes.list()).map((node) => ({
        name: node.name,
        state: node.provision_state,
        power: node.power_state,
        server: node.instance_uuid,
      })),
    holds: (seen) =>
      seen.every(({ state, power, server }) => state === 'available' && power === 'power off' && server === null),
  });
  await runAndPrint(demo, ['node', 'list']);
  check(nodes.length === machines, 'all nodes are cleaned, powered off and available again');
  await untilFact({
    fact: 'the listener received every deletion',
    seconds: 60,
    signal: demo.signal,
    look: () =>
      demo.received.filter(({ type }) => type === 'stack.delete.completed').map((event) => dataOf(event)['stack_name']),
    holds: (seen) => stacks.every((name) => seen.includes(name)),
  });
  check(demo.refused() === 0, `the listener verified ${demo.received.length} deliveries and refused none`);
}

export async function checkNothingRuns(dataDirectory: string, signal: AbortSignal): Promise<void> {
  const left = await untilFact({
    fact: 'every process of the demo has ended',
    seconds: 60,
    signal,
    look: () => childrenOf(dataDirectory),
    holds: (seen) => seen.length === 0,
  });
  check(left.length === 0, 'no process is left');
}
