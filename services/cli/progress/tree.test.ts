import { stripVTControlCharacters } from 'node:util';
import type { Resource, Stack } from '@anneal/client/representation.ts';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { fit } from './show.ts';
import { layoutTree, renderTree } from './tree.ts';

const colors = pc.createColors(false);
const now = Date.parse('2030-01-01T00:01:00Z');

function resource(name: string, requiredBy: string[], extra: Partial<Resource> = {}): Resource {
  return {
    resource_name: name,
    resource_type: 'OS::Heat::Value',
    resource_status: 'CREATE_COMPLETE',
    resource_status_reason: '',
    physical_resource_id: '',
    creation_time: null,
    updated_time: null,
    required_by: requiredBy,
    links: [],
    started_at: '2030-01-01T00:00:00Z',
    finished_at: '2030-01-01T00:00:02.500Z',
    ...extra,
  };
}
const stack = { stack_name: 'web', stack_status: 'CREATE_IN_PROGRESS' } as Stack;

type Outline = [string, Outline[]];
const outline = (nodes: ReturnType<typeof layoutTree>): Outline[] =>
  nodes.map(({ resource: one, children }) => [one.resource_name, outline(children)]);

describe('layoutTree', () => {
  it('puts each resource once, below the deepest resource that it requires, and among those below the last to finish', () => {
    const tree = layoutTree([
      resource('serv1', ['configA', 'configB'], { finished_at: '2030-01-01T00:00:09Z' }),
      resource('queue', ['configA', 'configB']),
      resource('configA', ['configB']),
      resource('configB', []),
    ]);
    expect(outline(tree)).toEqual([
      ['queue', []],
      ['serv1', [['configA', [['configB', []]]]]],
    ]);
  });

  it('shows every resource of a graph with a cycle or with unknown names', () => {
    const tree = layoutTree([resource('a', ['b']), resource('b', ['a', 'gone'])]);
    expect(JSON.stringify(outline(tree))).toMatch(/"a".*"b"|"b".*"a"/);
  });

  it('lays out a chain of a thousand resources in bounded time', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `r${index}`);
    const chain = names.map((name, index) => resource(name, index < 999 ? [names[index + 1] ?? ''] : []));
    expect(layoutTree(chain)).toHaveLength(1);
  });
});

describe('renderTree', () => {
  const href = (id: string): string => `http://server/stacks/name/${id}`;
  const inside = (name: string, stackId: string, extra: Partial<Resource> = {}): Resource =>
    resource(name, [], { links: [{ rel: 'stack', href: href(stackId) }], ...extra });
  const nesting = (name: string, state: string): Resource =>
    resource(name, [], {
      resource_status: state,
      links: [
        { rel: 'stack', href: href('root') },
        { rel: 'nested', href: href(`in ${name}`) },
      ],
    });

  it('expands nested stacks that are busy, failed or waiting, and only counts the resources of finished ones', () => {
    const hook = { name: 'pre-create', since: '', kind: 'hook', deadline: null };
    const lines = renderTree({
      stack,
      now,
      colors,
      resources: [
        nesting('busy', 'CREATE_IN_PROGRESS'),
        nesting('done', 'CREATE_COMPLETE'),
        inside('leaf', 'in busy', { resource_status: 'INIT_COMPLETE', started_at: null, hook }),
        inside('leaf', 'in done'),
      ],
    });
    expect(lines.slice(1).map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      '├─ ● busy OS::Heat::Value create in progress 1m00s',
      '│ └─ ○ leaf OS::Heat::Value waiting waits at pre-create',
      '└─ ✔ done OS::Heat::Value create complete 2.5s 1 inside',
    ]);
  });

  it('leaves out the types in a narrow terminal, then the times', () => {
    const lineAt = (width: number) =>
      renderTree({ stack, now, colors, width, resources: [resource('only', [])] })[1]?.replaceAll(/ +/g, ' ');
    expect([60, 40, 26].map(lineAt)).toEqual([
      '└─ ✔ only OS::Heat::Value create complete 2.5s',
      '└─ ✔ only create complete 2.5s',
      '└─ ✔ only create complete',
    ]);
    const busy = {
      ...resource('only', []),
      resource_status: 'CREATE_IN_PROGRESS',
      resource_status_reason: 'node m1 boots',
    };
    const lines = renderTree({ stack, now, colors, width: 40, resources: [busy] });
    expect(lines[1]).toMatch(/…$/);
    expect(lines[1]).toHaveLength(40);
  });

  it('hides finished members of a large group', () => {
    const members = Array.from({ length: 1000 }, (_, index) => inside(String(index), 'in group'));
    const failed = inside('late', 'in group', { resource_status: 'CREATE_FAILED' });
    const lines = renderTree({
      stack,
      now,
      colors,
      resources: [nesting('group', 'CREATE_FAILED'), ...members, failed],
    });
    expect(lines).toHaveLength(15);
    expect(lines[2]).toContain('late');
    expect(lines[14]).toContain('… 989 more inside');
  });

  it('shows the state of each resource, its time so far while it runs, and no time while it waits', () => {
    const lines = renderTree({
      stack,
      now,
      colors,
      resources: [
        resource('serv1', ['configA']),
        resource('configA', ['configB'], { resource_status: 'CREATE_IN_PROGRESS', finished_at: null }),
        resource('configB', [], { resource_status: 'INIT_COMPLETE', started_at: null, finished_at: null }),
      ],
    });
    expect(lines).toEqual(
      [
        '● web  create in progress',
        '└─ ✔ serv1         OS::Heat::Value  create complete       2.5s',
        '   └─ ● configA    OS::Heat::Value  create in progress   1m00s',
        '      └─ ○ configB  OS::Heat::Value  waiting',
      ].map((line) =>
        expect.stringMatching(new RegExp(`^${line.replaceAll(/\s+/g, '\\s+').replaceAll(/[.]/g, '\\.')}$`)),
      ),
    );
  });

  it('shows the first line of the reason of a failed resource', () => {
    const failed = resource('a', [], {
      resource_status: 'CREATE_FAILED',
      resource_status_reason: 'exit status 3\nmore',
    });
    expect(renderTree({ stack, now, colors, resources: [failed] })[1]).toMatch(
      /✘ a .* create failed .* exit status 3$/,
    );
  });

  it('aligns columns with and without colors', () => {
    const resources = [resource('a', []), resource('longer', [], { resource_status: 'CREATE_FAILED' })];
    const plain = renderTree({ stack, now, colors, resources });
    const coloured = renderTree({ stack, now, colors: pc.createColors(true), resources });
    expect(coloured.map(stripVTControlCharacters)).toEqual(plain);
  });
});

describe('fit', () => {
  it('shows busy resources first when the tree does not fit on the screen', () => {
    const lines = ['web', ...Array.from({ length: 50 }, (_, index) => `r${index} complete`), 'x in progress'];
    expect(fit(lines, 10)).toEqual(['web', 'x in progress', '… 50 more']);
    expect(fit(lines.slice(0, 5), 10)).toEqual(lines.slice(0, 5));
  });
});
