import { describe, expect, it } from 'vitest';
import { glanceDraft, glanceImage, imageDocument, imageOrder, imagePage } from './image-view.ts';

const image = (name: string) => ({
  id: `id-${name}`,
  name,
  url: `http://images.test/${name}.raw`,
  sha256: 'a'.repeat(64),
  size: 1024,
  created_at: '2026-01-02T03:04:05.678Z',
});
const all = ['a', 'b', 'c', 'd', 'e'].map(image);
const names = (filters: Parameters<typeof imagePage>[1]) => imagePage(all, filters).rows.map(({ name }) => name);

describe('a list of images in Glance’s form', () => {
  it('shows checksum, size, address and state of each', () => {
    expect(imagePage(all, { name: 'a' }).rows).toMatchObject([
      {
        id: 'id-a',
        status: 'active',
        disk_format: 'raw',
        os_hash_algo: 'sha256',
        os_hash_value: 'a'.repeat(64),
        size: 1024,
        direct_url: 'http://images.test/a.raw',
        created_at: '2026-01-02T03:04:05Z',
      },
    ]);
  });

  it('shows the properties, tags and least sizes that a client gave, which hide no field of the server', () => {
    const details = { properties: { os_distro: 'debian', status: 'queued' }, tags: ['lts'], min_disk: 4, min_ram: 512 };
    expect(glanceImage({ ...image('a'), details })).toMatchObject({
      os_distro: 'debian',
      status: 'active',
      tags: ['lts'],
      min_disk: 4,
      min_ram: 512,
    });
    expect(glanceDraft({ ...image('a'), format: 'raw', details })).toMatchObject({ os_distro: 'debian', min_disk: 4 });
  });

  it('has pages that a client follows by their marker, each image once', () => {
    const seen: unknown[] = [];
    for (let marker: string | undefined; ;) {
      const page = imagePage(all, { limit: 2, marker });
      seen.push(...page.rows.map(({ name }) => name));
      marker = page.next;
      if (marker === undefined) break;
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(imagePage(all, { limit: 5 }).next).toBeUndefined();
    expect(() => imagePage(all, { marker: 'no' })).toThrow('The marker no is not in the list');
  });

  it('filters by name, state and visibility', () => {
    expect(names({ name: 'c' })).toEqual(['c']);
    expect(names({ status: 'queued' })).toEqual([]);
    expect(names({ visibility: 'private' })).toEqual([]);
    expect(names({ visibility: 'public', limit: 1 })).toEqual(['a']);
  });

  it('has a schema with each field of an image', () => {
    expect(Object.keys(imageDocument.properties as object)).toEqual(
      expect.arrayContaining(Object.keys(glanceImage(image('a')))),
    );
  });

  it('is sorted by the keys that a client names, downwards unless it says asc', () => {
    const sorted = (given: Partial<Parameters<typeof imageOrder>[0]>) =>
      imagePage([...all, { ...image('z'), size: 1 }], {
        order: imageOrder({ sort: undefined, keys: [], directions: [], ...given }),
        limit: 3,
      }).rows.map(({ name }) => name);
    expect(sorted({ sort: 'name' })).toEqual(['z', 'e', 'd']);
    expect(sorted({ sort: 'size:asc,name:desc' })).toEqual(['z', 'e', 'd']);
    expect(sorted({ keys: ['size', 'name'], directions: ['asc'] })).toEqual(['z', 'a', 'b']);
    for (const wrong of [
      { sort: 'bogus' },
      { sort: 'name:up' },
      { sort: 'name', keys: ['name'] },
      { keys: ['name'], directions: ['asc', 'desc'] },
    ])
      expect(() => sorted(wrong)).toThrow(expect.objectContaining({ code: 'InvalidRequest' }));
  });
});
