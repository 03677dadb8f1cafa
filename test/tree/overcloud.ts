/**
 * A tree of the shape of TripleO's overcloud, with the values that it must have: roles, each with a chain of services whose
 * types come as a value, and with a group of machines on which deployments run. The root is depth 0, the settings of a
 * container are depth 7.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { TemplateDraft } from './draft.ts';
import type { ExpectedStack } from './expected.ts';
import { Library } from './library.ts';
import {
  fieldOf,
  heavy,
  joined,
  joinedList,
  keyed,
  listWith,
  mapped,
  mergedMaps,
  literalOf,
  withoutNulls,
  type KnownValue,
} from './known.ts';
import { machineTemplates } from './machine-templates.ts';
import { serviceTemplates, serviceType } from './service-templates.ts';
import { servicesOf, type TreeState } from './state.ts';

/** A request to create or update a stack, and its result. */
export interface Tree {
  readonly template: string;
  readonly files: Record<string, string>;
  readonly environment: JsonObject;
  readonly parameters: JsonObject;
  readonly expected: ExpectedStack;
  /** Texts that no reader without the right to see them may find. */
  readonly secrets: readonly string[];
}

/** Two maps of the root that everything reads. */
const shared = {
  endpoints: (draft: TemplateDraft): void => {
    const domain = draft.parameter('Domain', { type: 'string' });
    const uri = draft.slow('Uri', joined('', [literalOf('https://api.'), domain]), { seconds: 0.03 });
    const checked = draft.value('Checked', heavy(uri, 25));
    draft.output('map', mapped({ uri, checked, hosts: listWith([domain, uri]) }));
  },
  passwords:
    ({ hidden }: TreeState) =>
    (draft: TemplateDraft): void => {
      const password = draft.parameter('Password', { type: 'string', hidden });
      const ready = draft.slow('Ready', literalOf('ready'), { seconds: 0.02 });
      const admin = draft.value('Admin', joined('/', [literalOf('admin'), password, ready]));
      const open = draft.value('Open', joined('/', [literalOf('open'), ready]));
      draft.output('map', mapped({ admin, open }));
    },
};

interface Shared {
  readonly domain: KnownValue;
  readonly endpoints: KnownValue;
  readonly passwords: KnownValue;
}

/** The resources of one role. Returns what the outputs of the root read. */
function roleOf(draft: TemplateDraft, role: string, { domain, endpoints, passwords }: Shared, { machines }: TreeState) {
  const services = draft.parameter(`${role}Services`, { type: 'comma_delimited_list' });
  const count = draft.parameter(`${role}Count`, { type: 'number' });
  const chain = draft.nested(`${role}ServiceChain`, 'Tree::Services', {
    Services: services,
    Endpoints: endpoints,
    Passwords: passwords,
    RoleName: literalOf(role),
  });
  const names = draft.value(`${role}ServiceNames`, chain.read('data', 'names'), { type: 'comma_delimited_list' });
  const group = draft.group(role, {
    count,
    type: 'Tree::Role',
    properties: (index) => ({
      Name: joined('-', [literalOf(role.toLowerCase()), index]),
      Domain: domain,
      Settings: chain.read('data', 'settings'),
      ServiceNames: names,
    }),
  });
  const servers = draft.value(`${role}Servers`, withoutNulls(group.readMap('server')), { type: 'json' });
  const config = draft.nested(`${role}Config`, 'Tree::Config', { Role: literalOf(role) });
  const word = fieldOf(passwords, 'admin');
  const deployments = draft.deployments(`${role}Deployment`, {
    servers,
    properties: {
      config: config.id,
      input_values: mapped({
        word,
        domain,
      }),
      ...(machines && { actions: literalOf(['CREATE', 'UPDATE']) }),
    },
    outputs: { result: joined(' for ', [word, domain]).value, deploy_status_code: 0 },
  });
  return { names, group, chain, servers, deployments };
}

const root =
  (state: TreeState) =>
  (draft: TemplateDraft): void => {
    const { hidden } = state;
    const domain = draft.parameter('Domain', { type: 'string' });
    const password = draft.parameter('AdminPassword', { type: 'string', hidden });
    const salt = draft.parameter('Salt', { type: 'string' });
    const random = draft.random('Random', { letter: 'z', length: 12, salt });
    const endpoints = draft.nested('Endpoints', 'Tree::Endpoints', { Domain: domain }).read('map');
    const passwords = draft.nested('Passwords', 'Tree::Passwords', { Password: password }).read('map');
    const roles = Array.from({ length: state.roles }, (_, index) => `Role${index}`);
    const made = roles.map((role) => ({ role, ...roleOf(draft, role, { domain, endpoints, passwords }, state) }));

    const entries = draft.value(
      'HostsEntry',
      joined(
        '\n',
        made.map(({ group }) => joinedList('\n', group.read('entry'))),
      ),
    );
    const byRole = draft.value(
      'NamesByRole',
      keyed(listWith(made.map(({ role, names }) => mapped({ role: literalOf(role), names }))), ['role', 'names']),
      { type: 'json' },
    );
    draft.output('Random', random);
    draft.output('Endpoints', endpoints);
    draft.output('HostsEntry', entries);
    draft.output('NamesByRole', byRole);
    draft.output('Servers', mapped(Object.fromEntries(made.map(({ role, servers }) => [role, servers]))));
    draft.output(
      'Results',
      mapped(Object.fromEntries(made.map(({ role, deployments }) => [role, deployments.readAll('result')]))),
    );
    draft.output('Settings', mergedMaps(made.map(({ chain }) => chain.read('data', 'settings'))));
    for (const { role, chain, group } of made) {
      draft.output(`${role}Data`, chain.read('data'));
      draft.output(`${role}Hosts`, group.readMap('host'));
      draft.output(`${role}Seconds`, group.read('second'));
    }
    draft.output('All', heavy(joined(' ', [domain, password, random, entries]), 30));
  };

export function overcloud(state: TreeState): Tree {
  // The product cannot know that a default is a secret when no template declares its parameter.
  const numbers = Array.from({ length: state.services }, (_, index) => index).filter(
    (index) => !state.without.includes(index),
  );
  const library = new Library({
    types: {
      ...serviceTemplates(state),
      ...machineTemplates(state),
      'Tree::Endpoints': { file: 'endpoints.yaml', write: shared.endpoints },
      'Tree::Passwords': { file: 'passwords.yaml', write: shared.passwords(state) },
    },
    defaults: {
      TreeLogLevel: state.logLevel,
      TreeFailing: state.failing === undefined ? 'none' : `service-${state.failing}`,
      ...Object.fromEntries(numbers.map((index) => [`Service${index}Password`, `${state.password}-${index}`])),
    },
  });
  const parameters: JsonObject = {
    Domain: state.domain,
    AdminPassword: state.password,
    Salt: state.salt,
    ...Object.fromEntries(
      Array.from({ length: state.roles }, (_, role) => [
        [`Role${role}Services`, servicesOf(state, role).map(serviceType)],
        [`Role${role}Count`, state.nodes],
      ]).flat() as [string, JsonObject[string]][],
    ),
  };
  const draft = library.draft({ write: root(state) }, parameters);
  return {
    template: JSON.stringify(draft.template()),
    files: Object.fromEntries(library.files),
    environment: library.environment(),
    parameters,
    expected: draft.expected,
    secrets: state.hidden ? [state.password] : [],
  };
}
