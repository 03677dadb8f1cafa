/** Configs, deployments and what a host answers. */
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { wordOf, at, readOdd, type Odd, type OddMap } from './document.ts';
import { valuesClient } from './cli-doors.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

interface Host {
  readonly id: string;
  readonly token: string;
}

async function newHost({ context, project }: ValuesWorld, called: string): Promise<Host> {
  const id = context.newId();
  const message = context.mint(hostCreate, { data: { id, name: called, project }, project });
  const { token } = await context.bus.request({ queue: requestsQueue('configuration'), call: hostCreate, message });
  return { id, token };
}

const configOf = async (world: ValuesWorld, members: string): Promise<Odd> =>
  at(
    await world.call('POST', `${world.heat}/software_configs`, `{"name":"c","group":"script",${members}}`),
    'software_config',
  );

async function deployed(world: ValuesWorld, text: string): Promise<{ id: string; host: Host; request: Odd }> {
  const host = await newHost(world, world.name('host'));
  const config = await configOf(
    world,
    '"config":"true","inputs":[{"name":"i","type":"Json"}],"outputs":[{"name":"o"}]',
  );
  const shown = await world.call(
    'POST',
    `${world.heat}/software_deployments`,
    `{"config_id":"${wordOf(at(config, 'id'))}","server_id":"${host.id}","input_values":{"i":${text}},"action":"CREATE","status":"IN_PROGRESS"}`,
  );
  const id = wordOf(at(shown, 'software_deployment', 'id'));
  return { id, host, request: shown };
}

const asHost = ({ token }: Host): Record<string, string> => ({ 'x-auth-token': token });

/** The agent's first message. */
const report = (world: ValuesWorld, host: Host, text: string): Promise<Odd> =>
  world.call(
    'POST',
    `/messaging/v2/queues/host.${host.id}.responses/messages`,
    `{"messages":[{"ttl":300,"body":{"hello":true,"facts":{"document":${text}}}}]}`,
    asHost(host),
  );

/** A context that shows the fact of a host. */
async function contextOf(world: ValuesWorld, text: string): Promise<string> {
  const host = await newHost(world, world.name('host'));
  await report(world, host, text);
  const name = world.name('context');
  await world.stack({
    template: `{"heat_template_version":"2018-08-31","resources":{"${name}":{"type":"Anneal::Context","properties":{"members":{"all":["${host.id}"]},"facts":["document"]}}}}`,
  });
  return name;
}
const hasVersion = (context: Odd): boolean => (at(context, 'data', 'members') as Odd[]).length > 0;
const factOf = (context: Odd): Odd => at(context, 'data', 'members', 0, 'facts', 'document');

export const hostDoors: Readonly<Record<string, Door>> = {
  'the default of an input of a config': async (world, text) => {
    const config = await configOf(world, `"config":"","inputs":[{"name":"i","type":"Json","default":${text}}]`);
    const shown = await world.call('GET', `${world.heat}/software_configs/${wordOf(at(config, 'id'))}`);
    return at(shown, 'software_config', 'inputs', 0, 'default');
  },
  'the options of a config': async (world, text) => {
    const config = await configOf(world, `"config":"","options":{"document":${text}}`);
    const shown = await world.call('GET', `${world.heat}/software_configs/${wordOf(at(config, 'id'))}`);
    return at(shown, 'software_config', 'options', 'document');
  },
  'the inputs of a deployment': async (world, text) => {
    const { id } = await deployed(world, text);
    const shown = await world.call('GET', `${world.heat}/software_deployments/${id}`);
    return at(shown, 'software_deployment', 'input_values', 'i');
  },
  'the inputs of a deployment in the metadata of its server': async (world, text) => {
    const { host } = await deployed(world, text);
    const shown = await world.call('GET', `${world.heat}/software_deployments/metadata/${host.id}`);
    return at(shown, 'metadata', 0, 'inputs', 0, 'value');
  },
  'a fact of a host': async (world, text) => {
    const host = await newHost(world, world.name('host'));
    await report(world, host, text);
    const shown = await world.until(`/api/v1/hosts/${host.id}`, (each) =>
      (at(each, 'facts') as OddMap).has('document'),
    );
    return at(shown, 'facts', 'document');
  },
  'a fact in a context': async (world, text) => {
    const context = await contextOf(world, text);
    return factOf(await world.until(`/api/v1/contexts/${context}`, hasVersion));
  },
  'a context that the client follows': async (world, text) => {
    const context = await contextOf(world, text);
    const ending = new AbortController();
    for await (const found of (await valuesClient(world)).contexts.follow({ context, signal: ending.signal })) {
      const shown = readOdd(JSON.stringify(found));
      if (!hasVersion(shown)) continue;
      ending.abort();
      return factOf(shown);
    }
    throw new Error('The context has no end.');
  },
  'the outputs of a deployment': async (world, text) => {
    const { id } = await deployed(world, '1');
    const path = `${world.heat}/software_deployments/${id}`;
    await world.call('PUT', path, `{"status":"COMPLETE","output_values":{"o":${text}}}`);
    return at(await world.call('GET', path), 'software_deployment', 'output_values', 'o');
  },
};

/** The value of a stack passes a host. */
export const stackHostDoors: Readonly<Record<string, Door>> = {
  'a config of a stack, its input at the host and its output back': async (world, text) => {
    const host = await newHost(world, world.name('host'));
    const name = world.name('s');
    const template = `{"heat_template_version":"2018-08-31","resources":{"c":{"type":"OS::Heat::SoftwareConfig","properties":{"group":"script","config":"true","inputs":[{"name":"i","type":"Json"}],"outputs":[{"name":"o","type":"Json"}]}},"d":{"type":"OS::Heat::SoftwareDeployment","properties":{"config":{"get_resource":"c"},"server":"${host.id}","input_values":{"i":${text}}}}},"outputs":{"o":{"value":{"get_attr":["d","o"]}}}}`;
    await world.call('POST', `${world.heat}/stacks`, `{"stack_name":"${name}","template":${template}}`);
    const queue = `/messaging/v2/queues/host.${host.id}`;
    const claimed = await world.call('POST', `${queue}.requests/claims?wait=20`, '{"ttl":60,"grace":60}', asHost(host));
    const request = at(claimed, 'messages', 0, 'body');
    const inputs = at(request, 'inputs') as Odd[];
    const given = inputs.find((input) => at(input, 'name') === 'i') ?? null;
    const answer = `{"id":${JSON.stringify(at(request, 'id'))},"status_code":0,"stdout":"","stderr":"","outputs":{"o":${world.oddText(at(given, 'value'))}},"facts":{"f":1},"started_at":"2026-12-01T00:00:00Z","finished_at":"2026-12-01T00:00:01Z"}`;
    await world.call(
      'POST',
      `${queue}.responses/messages`,
      `{"messages":[{"ttl":300,"body":${answer}}]}`,
      asHost(host),
    );
    return at(await world.complete(name), 'outputs', 0, 'output_value');
  },
};
