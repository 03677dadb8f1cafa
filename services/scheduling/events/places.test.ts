import type { StackDocument } from '@anneal/convergence/documents.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { TreePlaces } from './places.ts';

type Known = Pick<StackDocument, 'id' | 'name' | 'root' | 'tags' | 'parent'>;

let now: number;
let reads: string[];
let stored: Map<string, Known>;
let places: TreePlaces;
beforeEach(() => {
  now = 1_000_000;
  reads = [];
  stored = new Map();
  const get = (id: string): Promise<StackDocument | undefined> => {
    reads.push(id);
    return Promise.resolve(stored.get(id) as StackDocument | undefined);
  };
  places = new TreePlaces({ get }, () => now);
});

const root: Known = { id: 'r', name: 'web', root: 'r', tags: ['prod'], parent: null };
const within = (parent: string, name: string, path?: string): Known => ({
  id: `${parent}/${name}`,
  name: `web-${name}`,
  root: 'r',
  tags: [],
  parent: {
    stack_id: parent,
    resource_id: `${parent}/${name}`,
    resource_name: name,
    action: 'create',
    fence: 1,
    deadline: '',
    ...(path !== undefined && { place: { root: { stack_id: 'r', stack_name: 'web' }, path, tags: ['prod'] } }),
  },
});
const place = (path: string, tags: string[]) => ({ root: { stack_id: 'r', stack_name: 'web' }, path, tags });

describe('the place of a stack', () => {
  it('of a root is read from nothing but itself', async () => {
    expect(await places.of(root)).toEqual(place('', ['prod']));
    expect(reads).toEqual([]);
  });

  it('of ten thousand nested stacks costs one read of the root a second', async () => {
    stored.set('r', { ...root, tags: ['test'] });
    for (let index = 0; index < 10_000; index += 1) {
      const found = await places.of(within('g', String(index), `group/${index}`));
      expect(found).toEqual(place(`group/${index}`, ['test']));
    }
    expect(reads).toEqual(['r']);
    now += 1_000;
    stored.set('r', { ...root, tags: ['later'] });
    expect(await places.of(within('g', '0', 'group/0'))).toEqual(place('group/0', ['later']));
    expect(reads).toEqual(['r', 'r']);
  });

  it('has the tags that this process has just written', async () => {
    stored.set('r', root);
    expect((await places.of(within('r', 'a', 'a'))).tags).toEqual(['prod']);
    places.note({ ...root, tags: ['new'] });
    expect((await places.of(within('r', 'a', 'a'))).tags).toEqual(['new']);
  });

  it('of a stack that an older version made is found through the stacks around it', async () => {
    stored.set('r', root);
    const group = within('r', 'group');
    stored.set(group.id, group);
    expect(await places.of(within(group.id, '0'))).toEqual(place('group/0', ['prod']));
  });

  it('keeps the tags of the last request when the root no longer exists', async () => {
    expect(await places.of(within('r', 'a', 'a'))).toEqual(place('a', ['prod']));
  });
});
