import { afterEach, describe, expect, it } from 'vitest';
import { metricList, metricPost, metricQuery, type Measurement } from '@anneal/contracts/calls/measuring.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { cleanUpAll, project, startWorld, type NotificationWorld } from '../../testing/world.ts';

afterEach(cleanUpAll);

const start = Math.floor(Date.now() / 60_000) * 60_000 - 120_000;
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();
const load = (value: number, seconds: number, instance: string): Measurement => ({
  name: 'load',
  value,
  at: at(seconds),
  labels: { instance },
});
const post = (world: NotificationWorld, id: string, ...measurements: Measurement[]) =>
  world.ask(metricPost, { project, id, poster: { kind: 'user' }, measurements });
const query = async (world: NotificationWorld, more: object = {}) => {
  const { results } = await world.ask(metricQuery, {
    project,
    name: 'load',
    where: {},
    by: [],
    aggregate: 'sum',
    granularity: 60,
    from: at(0),
    to: at(120),
    ...more,
  });
  return results.map(({ labels, points }) => [labels, points.map(({ value }) => value)]);
};

const seriesOf = async (world: NotificationWorld) =>
  (await world.ask(metricList, { project, where: {}, limit: 10 })).series;

describe('measurements', () => {
  it('are aggregated over labels and time', async () => {
    const world = await startWorld();
    await post(world, '1', load(1, 0, 'a'), load(2, 10, 'a'), load(10, 70, 'b'));
    expect(await query(world)).toEqual([[{}, [3, 10]]]);
    expect(await query(world, { by: ['instance'] })).toEqual([
      [{ instance: 'a' }, [3]],
      [{ instance: 'b' }, [10]],
    ]);
    expect(await query(world, { where: { instance: 'b' } })).toEqual([[{}, [10]]]);
    expect((await seriesOf(world)).map(({ name, labels }) => [name, labels['instance']])).toEqual([
      ['load', 'a'],
      ['load', 'b'],
    ]);
  });

  it('B1: add nothing when a batch is repeated, also after a restart and beside others', async () => {
    const world = await startWorld();
    const batch = [load(5, 0, 'a'), load(7, 0, 'b')];
    const answers = await Promise.all([post(world, 'one', ...batch), post(world, 'one', ...batch)]);
    expect(answers.map(({ stored }) => stored).toSorted((a, b) => a - b)).toEqual([0, 2]);
    await world.stop();
    await world.start();
    expect(await post(world, 'one', ...batch)).toEqual({ stored: 0, repeated: 2 });
    expect(await query(world)).toEqual([[{}, [12]]]);
  });

  it('M1: are stored by the repeat when the first post dies half-way', async () => {
    const world = await startWorld();
    armFault('measurements.series', () => {
      disarmFaults();
      throw new Error('the process dies');
    });
    await expect(post(world, 'one', load(5, 0, 'a'))).rejects.toThrow('the process dies');
    expect(await post(world, 'one', load(5, 0, 'a'))).toEqual({ stored: 1, repeated: 0 });
    expect(await query(world)).toEqual([[{}, [5]]]);
  });

  it('M3: of many posts at the same time take few writes and lose none', async () => {
    const world = await startWorld();
    await Promise.all(Array.from({ length: 100 }, (_, index) => post(world, `b${index}`, load(1, 0, 'a'))));
    expect(await query(world)).toEqual([[{}, [100]]]);
    const blocks = await world.context.store.collection({
      name: 'notification_measurements',
      indexes: [{ fields: ['start'] }],
    });
    const [block] = await blocks.find({ where: { start: { gte: 0 } } });
    expect(block?.version).toBeLessThan(50);
  });

  it('M2: store nothing of a batch with a mistake, and name every mistake', async () => {
    const world = await startWorld();
    const failure = post(world, '1', load(1, 0, 'a'), load(1, -90_000, 'a'), load(1, 100_000, 'b'));
    await expect(failure).rejects.toMatchObject({
      code: 'InvalidRequest',
      mistakes: [{ path: 'measurements.1.at' }, { path: 'measurements.2.at' }],
    });
    expect(await query(world)).toEqual([]);
  });

  it('are refused by name above the quota of series', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_MAX_SERIES: '2' });
    await post(world, '1', load(1, 0, 'a'), load(1, 0, 'b'));
    await expect(post(world, '2', load(1, 0, 'a'), load(1, 0, 'c'))).rejects.toThrow(/load\{instance="c"\}/);
    expect(await query(world)).toEqual([[{}, [2]]]);
    expect(await post(world, '3', load(1, 10, 'a'))).toEqual({ stored: 1, repeated: 0 });
  });

  const restartAt = async (world: NotificationWorld, seconds: number): Promise<void> => {
    await world.stop();
    Object.assign(world.context, { now: () => new Date(start + seconds * 1000) });
    await world.start();
  };
  const blocksOf = async (world: NotificationWorld) => {
    const name = 'notification_measurements';
    const blocks = await world.context.store.collection({ name, indexes: [{ fields: ['start'] }] });
    return blocks.find({ where: { start: { gte: 0 } } });
  };

  it('R1, R2: stay as hours when they are old, once, whatever line a crash comes at', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_KEEP_MEASUREMENTS_SECONDS: '600' });
    await post(world, '1', load(1, 0, 'a'), load(2, 10, 'a'), load(40, 100, 'b'));
    await restartAt(world, 500);
    await post(world, '2', load(5, 400, 'a'));
    const hour = Math.floor(start / 3_600_000) * 3_600_000;
    const range = { from: new Date(hour).toISOString(), to: new Date(hour + 2 * 3_600_000).toISOString() };
    const values = async (aggregate: string) =>
      (await query(world, { ...range, granularity: 3600, aggregate })).flatMap(([, points]) => points as number[]);
    const total = async (aggregate: string) => (await values(aggregate)).reduce((sum, value) => sum + value, 0);
    let died = 0;
    armFault('measurements.rolled', () => {
      died += 1;
      if (died === 1) throw new Error('the process dies');
    });
    await restartAt(world, 7200);
    await eventually(async () => died > 0);
    // The blocks and their days are both there.
    expect(await total('sum')).toBe(48);
    await restartAt(world, 7200);
    await eventually(async () => (await blocksOf(world)).length === 0, { what: 'the removal of the blocks' });
    expect([await total('sum'), await total('count'), Math.max(...(await values('max')))]).toEqual([48, 4, 40]);
    expect(await query(world, { from: at(0), to: at(120) })).toEqual([[{}, []]]);
    expect(await seriesOf(world)).toHaveLength(2);
  });

  it('make room for new series when only hours are left of them', async () => {
    const world = await startWorld({
      ANNEAL_NOTIFICATION_KEEP_MEASUREMENTS_SECONDS: '600',
      ANNEAL_NOTIFICATION_MAX_SERIES: '2',
    });
    await post(world, '1', load(1, 0, 'a'), load(1, 30, 'b'));
    await restartAt(world, 3600);
    await post(world, '2', load(1, 3600, 'c'));
    expect((await seriesOf(world)).map(({ labels }) => labels['instance'])).toEqual(['b', 'c']);
    await post(world, '3', load(1, 3600, 'd'));
    await expect(post(world, '4', load(1, 3600, 'e'))).rejects.toThrow(/load\{instance="e"\}/);
  });

  it('are removed by age, and their series with them', async () => {
    const world = await startWorld({
      ANNEAL_NOTIFICATION_KEEP_MEASUREMENTS_SECONDS: '600',
      ANNEAL_NOTIFICATION_KEEP_HOURLY_SECONDS: '0',
    });
    await post(world, '1', load(1, 0, 'a'));
    await world.stop();
    const late = start + 3_600_000;
    Object.assign(world.context, { now: () => new Date(late) });
    await world.start();
    await eventually(async () => (await seriesOf(world)).length === 0, { what: 'the removal of the series' });
    await post(world, '2', load(3, 3600, 'a'));
    expect(await query(world, { from: at(3540), to: at(3720) })).toEqual([[{}, [3]]]);
  });

  it('refuse a granularity that the stored periods cannot give', async () => {
    const world = await startWorld();
    await expect(query(world, { granularity: 15 })).rejects.toThrow(/multiple of the period of 10 s/);
  });
});
