/** Nodes and what belongs to them, through Ironic's API. */
import { wordOf, at, type Odd, type OddMap } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const version = { 'x-openstack-ironic-api-version': '1.96' };
const ironic = (world: ValuesWorld, method: string, path: string, body?: string): Promise<Odd> =>
  world.call(method, `/baremetal/v1/${path}`, body, version);

/** Creates an object with extra data. Returns its path. */
async function created(world: ValuesWorld, collection: string, members: readonly string[], extra: string) {
  const body = `{${[...members, `"extra":${extra}`].join(',')}}`;
  return `${collection}/${wordOf(at(await ironic(world, 'POST', collection, body), 'uuid'))}`;
}
const newNode = (world: ValuesWorld, extra = '{}'): Promise<string> =>
  created(world, 'nodes', [`"name":"${world.name('n')}"`, '"driver":"fake-hardware"'], extra);

type Collection = [collection: string, members: (world: ValuesWorld, node: string) => string[]];
const step = '{"interface":"deploy","step":"deploy","args":{},"ORDER":1}';
const collections: readonly Collection[] = [
  ['nodes', (world) => [`"name":"${world.name('n')}"`, '"driver":"fake-hardware"']],
  ['ports', (world, node) => [`"node_uuid":"${node}"`, `"address":"${world.address()}"`]],
  ['portgroups', (_world, node) => [`"node_uuid":"${node}"`]],
  ['chassis', () => []],
  [
    'volume/connectors',
    (world, node) => [`"node_uuid":"${node}"`, '"type":"iqn"', `"connector_id":"${world.name('c')}"`],
  ],
  [
    'volume/targets',
    (world, node) => [
      `"node_uuid":"${node}"`,
      '"volume_type":"iscsi"',
      '"boot_index":0',
      `"volume_id":"${world.name('v')}"`,
    ],
  ],
  ['allocations', (world) => [`"name":"${world.name('a')}"`, '"resource_class":"odd"']],
  [
    'runbooks',
    (world) => [`"name":"CUSTOM_${world.name('R').replace('-', '_')}"`, `"steps":[${step.replace('ORDER', 'order')}]`],
  ],
  [
    'deploy_templates',
    (world) => [
      `"name":"CUSTOM_${world.name('T').replace('-', '_')}"`,
      `"steps":[${step.replace('ORDER', 'priority')}]`,
    ],
  ],
];

const extraDoors = collections.flatMap(([collection, members]): [string, Door][] => {
  const made = async (world: ValuesWorld, extra: string): Promise<string> => {
    const node = (await newNode(world)).replace('nodes/', '');
    return created(world, collection, members(world, node), extra);
  };
  const shown = async (world: ValuesWorld, path: string): Promise<Odd> =>
    at(await ironic(world, 'GET', path), 'extra', 'document');
  return [
    [
      `Ironic: the extra data of ${collection}`,
      async (world, text) => shown(world, await made(world, `{"document":${text}}`)),
    ],
    [
      `Ironic: a patch of the extra data of ${collection}`,
      async (world, text) => {
        const path = await made(world, `{"10":1.0,"9":2}`);
        await ironic(world, 'PATCH', path, `[{"op":"add","path":"/extra/document","value":${text}}]`);
        return shown(world, path);
      },
    ],
    [
      `Ironic: a patch beside the extra data of ${collection}`,
      async (world, text) => {
        const path = await made(world, `{"document":{"10":${text},"9":1.0,"a":1}}`);
        await ironic(
          world,
          'PATCH',
          path,
          '[{"op":"add","path":"/extra/document/2","value":1},{"op":"remove","path":"/extra/document/a"}]',
        );
        const found = (await shown(world, path)) as OddMap;
        const names = [...found.keys()].join();
        return names === '10,9,2' ? at(found, '10') : names;
      },
    ],
  ];
});

export const nodeDoors: Readonly<Record<string, Door>> = {
  ...Object.fromEntries(extraDoors),
  'Ironic: the arguments of a step of a runbook': async (world, text) => {
    const steps = step.replace('ORDER', 'order').replace('{}', `{"document":${text}}`);
    const path = await created(
      world,
      'runbooks',
      [`"name":"CUSTOM_${world.name('R').replace('-', '_')}"`, `"steps":[${steps}]`],
      '{}',
    );
    return at(await ironic(world, 'GET', path), 'steps', 0, 'args', 'document');
  },
};
