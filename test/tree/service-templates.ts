/** Templates of the services: base, containers, service, and the chain of all services of a role. */
import type { TemplateDraft } from './draft.ts';
import type { TemplateType } from './library.ts';
import {
  chosen,
  fieldOf,
  flattened,
  heavy,
  joined,
  joinedList,
  mapped,
  mergedMaps,
  mergedDeep,
  mergedList,
  literalOf,
  plucked,
  replaced,
} from './known.ts';
import type { TreeState } from './state.ts';

export const serviceType = (index: number): string => `Tree::Service::Number${index}`;

/** Settings that all services share, two levels below each. */
function base(draft: TemplateDraft): void {
  const name = draft.parameter('Name', { type: 'string' });
  const level = draft.parameter('TreeLogLevel', { type: 'string', default: 'none' });
  const settings = draft.value(
    'Settings',
    mapped({ 'log.level': level, 'log.file': replaced('/var/log/_name_.log', { _name_: name }) }),
    { type: 'json' },
  );
  const ready = draft.slow('Ready', joined('@', [name, level]), { seconds: 0.02 });
  draft.output('settings', settings);
  draft.output('ready', ready);
}

function container({ hidden }: TreeState) {
  return (draft: TemplateDraft): void => {
    const name = draft.parameter('Name', { type: 'string' });
    const password = draft.parameter('Password', { type: 'string', hidden });
    const image = draft.value('Image', joined('/', [literalOf('registry'), name]));
    const started = draft.slow('Started', replaced('_image_ runs', { _image_: image }), { seconds: 0.01 });
    const settings = draft.nested('Settings', 'Tree::ContainerSettings', { Image: image, Password: password });
    draft.output('started', started);
    draft.output('settings', settings.read('settings'));
  };
}

function containerSettings({ hidden }: TreeState) {
  return (draft: TemplateDraft): void => {
    const image = draft.parameter('Image', { type: 'string' });
    const password = draft.parameter('Password', { type: 'string', hidden });
    const held = draft.value('Held', mapped({ image, login: joined(':', [image, password]) }), { type: 'json' });
    draft.output('settings', held);
  };
}

function service(state: TreeState, index: number, isOther: boolean) {
  const { hidden, containers } = state;
  const kind = isOther ? 'other' : 'usual';
  return (draft: TemplateDraft): void => {
    const endpoints = draft.parameter('Endpoints', { type: 'json' });
    const passwords = draft.parameter('Passwords', { type: 'json', hidden });
    const role = draft.parameter('RoleName', { type: 'string' });
    const own = draft.parameter(`Service${index}Password`, { type: 'string', hidden });
    const failing = draft.parameter('TreeFailing', { type: 'string', default: 'none' });
    const isFailing = draft.condition('is_failing', [failing, literalOf(`service-${index}`)]);
    const isFirst = draft.condition('is_first', [role, literalOf('Role0')]);

    const name = literalOf(`service-${index}`);
    const common = draft.nested('Base', 'Tree::Base', { Name: joined('-', [name, role]) });
    const group = draft.group('Containers', {
      count: literalOf(containers),
      type: 'Tree::Container',
      properties: (number) => ({ Name: joined('-', [name, role, number]), Password: own }),
    });
    const revision = literalOf(`revision ${state.revisions[index] ?? 0}`);
    const step = draft.slow('Step', joined(' ', [name, revision, literalOf(kind)]), {
      seconds: 0.05 + (index % 3) * 0.02,
      fail: chosen(isFailing, [literalOf(true), literalOf(false)]),
    });
    const early = draft.slow('Early', joined(' ', [literalOf('early'), name]), { seconds: 0 });
    // Values that are answered at once, after one and after both of these, beside one that needs a worker.
    const secret = draft.value('Secret', joined('-', [own, step, early]));
    const open = draft.value('Open', joined('-', [literalOf('open'), step]));
    const counted = draft.value('Counted', heavy(joined('-', [name, role, step]), 20 + (index % 15)));
    const only = draft.value('OnlyInFirst', joined(' ', [name, literalOf('of'), role]), { when: isFirst });

    draft.output(
      'role_data',
      mapped({
        service_name: name,
        config_settings: mergedMaps([
          common.read('settings'),
          mapped({
            [`s${index}.secret`]: secret,
            [`s${index}.admin`]: fieldOf(passwords, 'admin'),
            [`s${index}.ready`]: common.read('ready'),
            [`s${index}.open`]: open,
            [`s${index}.uri`]: fieldOf(endpoints, 'uri'),
            [`s${index}.counted`]: counted,
            [`s${index}.containers`]: group.read('started'),
            [`s${index}.logins`]: group.read('settings', 'login'),
            [`s${index}.first`]: chosen(isFirst, [only, literalOf('not the first')]),
          }),
        ]),
        global: mapped({ names: { hot: [name.hot], value: [name.value] }, [`kind_${index}`]: literalOf(kind) }),
        tasks: { hot: [{ name: step.hot }, { name: open.hot }], value: [{ name: step.value }, { name: open.value }] },
      }),
    );
  };
}

/** All services of a role. */
function services({ hidden }: TreeState) {
  return (draft: TemplateDraft): void => {
    const types = draft.parameter('Services', { type: 'comma_delimited_list' });
    const endpoints = draft.parameter('Endpoints', { type: 'json' });
    const passwords = draft.parameter('Passwords', { type: 'json', hidden });
    const role = draft.parameter('RoleName', { type: 'string' });
    const chain = draft.chain('Chain', types, { Endpoints: endpoints, Passwords: passwords, RoleName: role });
    const names = draft.value('Names', plucked(chain.read('role_data'), 'service_name'), {
      type: 'comma_delimited_list',
    });
    const settings = draft.value('Settings', mergedList(chain.read('role_data', 'config_settings')), { type: 'json' });
    const global = draft.value('Global', mergedDeep(chain.read('role_data', 'global')), { type: 'json' });
    const tasks = draft.value('Tasks', flattened(chain.read('role_data', 'tasks')));
    const label = draft.slow('Label', joined(':', [role, joinedList(',', names)]), { seconds: 0.02 });
    draft.output('data', mapped({ names, settings, global, tasks, label }));
  };
}

export function serviceTemplates(state: TreeState): Record<string, TemplateType> {
  const numbered = Array.from({ length: state.services }, (_, index): [string, TemplateType] => {
    const isOther = state.others.includes(index);
    const file = `services/number-${index}${isOther ? '-other' : ''}.yaml`;
    return [serviceType(index), { file, write: service(state, index, isOther) }];
  });
  return {
    'Tree::Base': { file: 'services/base.yaml', write: base },
    'Tree::Container': { file: 'services/container.yaml', write: container(state) },
    'Tree::ContainerSettings': { file: 'services/container-settings.yaml', write: containerSettings(state) },
    'Tree::Services': { file: 'services.yaml', write: services(state) },
    ...Object.fromEntries(numbered),
  };
}
