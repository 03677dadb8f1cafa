import { describe, expect, it } from 'vitest';
import { admission, type LimitsOfKinds, type SlotUser, type SlotWaiter } from './admission.ts';

const user = (node: string, change: Partial<SlotUser> = {}): SlotUser => ({
  node,
  kind: 'deploy',
  project: 'p1',
  rack: `node ${node}`,
  power_domain: `node ${node}`,
  ...change,
});
const waiter = (node: string, since: number, change: Partial<SlotUser> = {}): SlotWaiter => ({
  ...user(node, change),
  since: `2026-01-01T00:00:${String(since).padStart(2, '0')}Z`,
});
const decide = (options: { holders?: SlotUser[]; waiting: SlotWaiter[]; limits: Partial<LimitsOfKinds> }) => {
  const { admitted, queue } = admission({
    holders: options.holders ?? [],
    waiting: options.waiting,
    limits: { deploy: {}, clean: {}, erase: {}, ...options.limits },
  });
  return { admitted: admitted.map(({ node }) => node), queue: Object.fromEntries(queue) };
};

describe('admission to slots', () => {
  it('A1, A3: limits the nodes of one image server, and delays no node with another one or without an image', () => {
    const from = (image_server: string) => ({ image_server });
    const waiting = [
      waiter('b', 1, from('http://one')),
      waiter('c', 2, from('http://two')),
      waiter('d', 3),
      waiter('e', 4, from('http://two')),
    ];
    const holders = [user('a', from('http://one'))];
    expect(decide({ holders, waiting, limits: { deploy: { total: 9, image_server: 1 } } })).toEqual({
      admitted: ['c', 'd'],
      queue: {
        b: { position: 1, of: 2, why: '1 of 1 deploys from image server http://one' },
        e: { position: 2, of: 2, why: '1 of 1 deploys from image server http://two' },
      },
    });
  });

  it('A1: admits every node without a limit, and in order up to the limit', () => {
    const waiting = [waiter('c', 3), waiter('a', 1), waiter('b', 2)];
    expect(decide({ waiting, limits: {} }).admitted).toEqual(['a', 'b', 'c']);
    expect(decide({ waiting, limits: { deploy: { total: 2 } } })).toEqual({
      admitted: ['a', 'b'],
      queue: { c: { position: 1, of: 1, why: '2 of 2 deploys' } },
    });
    expect(decide({ holders: [user('x'), user('y'), user('z')], waiting, limits: { deploy: { total: 2 } } })).toEqual({
      admitted: [],
      queue: {
        a: { position: 1, of: 3, why: '3 of 2 deploys' },
        b: { position: 2, of: 3, why: '3 of 2 deploys' },
        c: { position: 3, of: 3, why: '3 of 2 deploys' },
      },
    });
  });

  it('A1: counts deploys, cleans and erases apart', () => {
    const holders = [user('x', { kind: 'deploy' }), user('y', { kind: 'clean' })];
    const waiting = (['deploy', 'clean', 'erase'] as const).map((kind, at) => waiter(kind, at, { kind }));
    const limits = { deploy: { total: 1 }, clean: { total: 1 }, erase: { total: 1 } };
    const { admitted, queue } = decide({ holders, waiting, limits });
    expect(admitted).toEqual(['erase']);
    expect(queue).toMatchObject({ deploy: { why: '1 of 1 deploys' }, clean: { why: '1 of 1 cleans' } });
  });

  it('A2: gives free slots to the project with the fewest, then to the longest wait', () => {
    const waiting = [
      ...[1, 2, 3, 4].map((at) => waiter(`big-${at}`, at, { project: 'big' })),
      waiter('small-1', 9, { project: 'small' }),
    ];
    const { admitted, queue } = decide({ waiting, limits: { deploy: { total: 2 } } });
    expect(admitted).toEqual(['big-1', 'small-1']);
    expect(Object.keys(queue)).toEqual(['big-2', 'big-3', 'big-4']);
    const holders = [user('h1', { project: 'big' }), user('h2', { project: 'big' })];
    expect(decide({ holders, waiting, limits: { deploy: { total: 3 } } }).admitted).toEqual(['small-1']);
  });

  it('A3: stops a node in a full rack or power domain, and none behind it', () => {
    const holders = [user('x', { rack: 'r1', power_domain: 'left' })];
    const waiting = [
      waiter('a', 1, { rack: 'r1', power_domain: 'right' }),
      waiter('b', 2, { rack: 'r2', power_domain: 'left' }),
      waiter('c', 3, { rack: 'r3', power_domain: 'right' }),
      waiter('d', 4, { rack: 'r3', power_domain: 'right' }),
    ];
    expect(decide({ holders, waiting, limits: { deploy: { rack: 1, power_domain: 1 } } })).toEqual({
      admitted: ['c'],
      queue: {
        a: { position: 1, of: 3, why: '1 of 1 deploys in rack r1' },
        b: { position: 2, of: 3, why: '1 of 1 deploys in power domain left' },
        d: { position: 3, of: 3, why: '1 of 1 deploys in rack r3, 1 of 1 deploys in power domain right' },
      },
    });
  });

  it('A1, A2: never exceeds a limit and never delays a project by more than its share, for random users', () => {
    const seed = Date.now() % 1_000_000;
    let state = seed;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state % below;
    };
    for (let round = 0; round < 200; round += 1) {
      const place = () => ({ project: `p${random(3)}`, rack: `r${random(4)}`, power_domain: `d${random(2)}` });
      const waiting = Array.from({ length: random(20) }, (_, at) => waiter(`w${at}`, random(60), place()));
      const limits = { total: 1 + random(6), rack: 1 + random(3), power_domain: 1 + random(4) };
      const admitted = admission({ holders: [], waiting, limits: { deploy: limits, clean: {}, erase: {} } }).admitted;
      const most = (key: 'rack' | 'power_domain' | 'kind'): number =>
        Math.max(0, ...[...Map.groupBy(admitted, (each) => each[key]).values()].map(({ length }) => length));
      const seen = { total: most('kind'), rack: most('rack'), power_domain: most('power_domain') };
      for (const name of ['total', 'rack', 'power_domain'] as const)
        expect(seen[name], `seed ${seed}, round ${round}, ${name}`).toBeLessThanOrEqual(limits[name]);
      if (waiting.length > 0) expect(admitted.length, `seed ${seed}, round ${round}`).toBeGreaterThan(0);
    }
  });
});
