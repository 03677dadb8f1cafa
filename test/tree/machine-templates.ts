/** Templates of the machines of a role: server, ports, and what deployments do on them. */
import type { TemplateDraft } from './draft.ts';
import type { TemplateType } from './library.ts';
import { anyValue, fieldOf, joined, joinedList, mapped, mergedMaps, literalOf, replaced } from './known.ts';
import type { TreeState } from './state.ts';

const networks = 2;

function port(draft: TemplateDraft): void {
  const host = draft.parameter('Host', { type: 'string' });
  const number = draft.parameter('Number', { type: 'string' });
  const address = draft.value('Address', replaced('_host_.net-_number_', { _host_: host, _number_: number }));
  draft.output('address', address);
}

/** A server, or a template that acts as one. Its name is its id. */
function server({ machines }: TreeState) {
  return (draft: TemplateDraft): void => {
    const name = draft.parameter('Name', { type: 'string' });
    if (machines) {
      draft.served('Machine', {
        type: 'OS::Nova::Server',
        properties: {
          name,
          image: literalOf('any'),
          flavor: literalOf('baremetal'),
          user_data_format: literalOf('SOFTWARE_CONFIG'),
        },
        attributes: { name: name.value },
      });
      draft.output('OS::stack_id', { hot: { get_resource: 'Machine' }, value: anyValue });
    } else {
      const booted = draft.slow('Machine', name, { seconds: 0.03 });
      draft.output('OS::stack_id', booted);
    }
  };
}

function role({ hidden }: TreeState) {
  return (draft: TemplateDraft): void => {
    const name = draft.parameter('Name', { type: 'string' });
    const domain = draft.parameter('Domain', { type: 'string' });
    const settings = draft.parameter('Settings', { type: 'json', hidden });
    const names = draft.parameter('ServiceNames', { type: 'comma_delimited_list' });
    const machine = draft.nested('Server', 'Tree::Server', { Name: name });
    const ports = draft.group('Ports', {
      count: literalOf(networks),
      type: 'Tree::Port',
      properties: (number) => ({ Host: name, Number: number }),
    });
    const host = draft.value('Host', joined('.', [name, domain]));
    const entry = draft.value(
      'Entry',
      joined(' ', [joinedList(' ', ports.read('address')), host, joinedList(',', names)]),
    );
    const all = draft.value('All', mergedMaps([settings, mapped({ host, addresses: ports.read('address') })]), {
      type: 'json',
    });
    draft.output('server', machine.id);
    draft.output('entry', entry);
    draft.output('host', host);
    draft.output('settings', all);
    draft.output('second', ports.readOne(1, 'address'));
  };
}

/** The text of the config, for `OS::Heat::SoftwareConfig` or what acts as one. */
const script = '#!/bin/sh\nprintf "%s for %s" "$word" "$domain" > "$heat_outputs_path.result"\n';

function config({ machines }: TreeState) {
  return (draft: TemplateDraft): void => {
    const role_ = draft.parameter('Role', { type: 'string' });
    if (machines) {
      draft.served('Config', {
        type: 'OS::Heat::SoftwareConfig',
        properties: {
          group: literalOf('script'),
          inputs: { hot: [{ name: 'word' }, { name: 'domain' }], value: [] },
          outputs: { hot: [{ name: 'result' }], value: [] },
          config: literalOf(script),
        },
        attributes: { config: script },
      });
      draft.output('OS::stack_id', { hot: { get_resource: 'Config' }, value: anyValue });
    } else draft.output('OS::stack_id', draft.value('Config', joined('-', [role_, literalOf('config')])));
  };
}

/** Acts as a deployment: returns what it was given. */
function deployment({ hidden }: TreeState) {
  return (draft: TemplateDraft): void => {
    const server_ = draft.parameter('server', { type: 'string' });
    const config_ = draft.parameter('config', { type: 'string' });
    const inputs = draft.parameter('input_values', { type: 'json', hidden });
    draft.parameter('actions', { type: 'comma_delimited_list', default: [] });
    draft.parameter('signal_transport', { type: 'string', default: '' });
    draft.parameter('name', { type: 'string', default: '' });
    const applied = draft.slow('Applied', joined(' on ', [config_, server_]), { seconds: 0.02 });
    const result = draft.value('Result', joined(' for ', [fieldOf(inputs, 'word'), fieldOf(inputs, 'domain')]));
    draft.output('deploy_stdout', applied);
    draft.output('deploy_stderr', literalOf(''));
    draft.output('result', result);
    draft.output('deploy_status_code', draft.value('Status', literalOf(0)));
  };
}

export function machineTemplates(state: TreeState): Record<string, TemplateType> {
  return {
    'Tree::Port': { file: 'machines/port.yaml', write: port },
    'Tree::Server': { file: 'machines/server.yaml', write: server(state) },
    'Tree::Role': { file: 'role.yaml', write: role(state) },
    'Tree::Config': { file: 'machines/config.yaml', write: config(state) },
    ...(!state.machines && {
      'OS::Heat::SoftwareDeployment': { file: 'machines/deployment.yaml', write: deployment(state) },
    }),
  };
}
