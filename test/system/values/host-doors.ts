/** Configs, deployments and what a host answers. */
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { wordOf, at, type Odd } from './document.ts';
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
