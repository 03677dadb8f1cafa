import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import { alarmHistory, alarmList, alarmSeries, alarmSet, alarmShow } from '@anneal/contracts/calls/alarms.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { metricList, metricPost } from '@anneal/contracts/calls/measuring.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  resourceCreate,
  resourceDelete,
  resourceSuspend,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { measuringTypes } from '@anneal/hot/types/measuring.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { AlarmDocument } from './alarm.ts';
import type { HistoryDocument } from './history.ts';
import { atEnd, cleanUpAll, listen, project, startWorld, type NotificationWorld } from '../../testing/world.ts';

useQuickClock();
afterEach(async () => {
  disarmFaults();
  await cleanUpAll();
});

const quick = { ANNEAL_NOTIFICATION_MEASUREMENT_PERIOD_SECONDS: '1', ANNEAL_NOTIFICATION_ALARM_SECONDS: '1' };

/** Where the alarm `high` is. */
const webPlace = { root: { stack_id: 'stack-1', stack_name: 'web' }, path: 'high', tags: ['shop'] };

interface AlarmWorld extends NotificationWorld {
  /** Signals as scheduling received them, by message id. */
  readonly signals: { id: string; resource: string; body: JsonObject }[];
  readonly changes: JsonObject[];
  readonly answers: ResourceResponse[];
  refuse: AnnealError | undefined;
  request(
    definition: typeof resourceCreate,
    id: string,
    more: { type?: string; properties?: JsonObject },
  ): Promise<ResourceResponse>;
}

async function startAlarms(environment: Record<string, string> = quick): Promise<AlarmWorld> {
  const world = (await startWorld(environment)) as AlarmWorld;
  const { bus, mint } = world.context;
  Object.assign(world, { signals: [], changes: [], answers: [], refuse: undefined });
  const scheduling = await bus.consume(
    requestsQueue('scheduling'),
    routeMessages([
      answer(world.context, stackSignal, async (message) => {
        if (world.refuse) throw world.refuse;
        const { resource, signal } = message.data;
        if (!world.signals.some(({ id }) => id === message.id)) {
          world.signals.push({ id: message.id, resource, body: signal as JsonObject });
        }
        return {};
      }),
      { type: 'provider.announced', handle: async () => {} },
    ]),
  );
  const answers = await bus.consume('test.answers', async ({ message }) => {
    world.answers.push((message as Envelope<ResourceResponse>).data);
  });
  const listener = await bus.subscribe(
    ['alarm.#'],
    async ({ message }) => void world.changes.push(message.data as JsonObject),
  );
  for (const each of [scheduling, answers, listener]) atEnd(() => each.stop());
  let fence = 0;
  world.request = async (definition, id, { type = 'Anneal::Alarm', properties = {} }) => {
    fence += 1;
    const own = fence;
    const data: ResourceRequest = {
      resource: { id, name: 'high', type, physical_name: `web-high-${id}` },
      stack: { id: 'stack-1', name: 'web' },
      traversal: 't',
      fence,
      deadline: new Date(Date.now() + 60_000).toISOString(),
      physical_id: null,
      properties,
      attributes: {},
      origin: { ...webPlace, ...systemOccasion('request') },
    };
    const message = mint(definition, { data, project, replyto: 'test.answers' });
    await bus.send({ queue: requestsQueue('notification'), messages: [message] });
    return eventually(() => world.answers.find((each) => each.fence === own && each.status !== 'in progress'), {
      what: `the answer to ${definition.type}`,
    });
  };
  return world;
}

let batch = 0;
const post = (world: NotificationWorld, value: number) =>
  world.ask(metricPost, {
    project,
    id: `b${(batch += 1)}`,
    poster: { kind: 'user' },
    measurements: [{ name: 'load', value }],
  });
/** Posts a value again and again until the condition holds. */
const postUntil = async (world: NotificationWorld, value: number, holds: () => boolean | Promise<boolean>) =>
  eventually(
    async () => {
      await post(world, value);
      return holds();
    },
    { what: 'the effect of the alarm' },
  );
const high = (more: JsonObject = {}): JsonObject => ({
  metric: 'load',
  threshold: 10,
  period: 1,
  repeat_actions: false,
  alarm_actions: ['up'],
  ok_actions: ['down'],
  ...more,
});
const state = async (world: NotificationWorld, alarm: string) => (await world.ask(alarmShow, { project, alarm })).state;

const historyOf = async (world: NotificationWorld) =>
  (await world.ask(alarmHistory, { project, alarm: 'a1', limit: 100 })).history;
/** The details of the attempts that failed, the newest first. */
const failuresOf = async (world: NotificationWorld) =>
  (await historyOf(world)).flatMap(({ kind, detail }) => (kind === 'action failed' ? [detail] : []));

/** Answers instant queries as the HTTP API of Prometheus does, with the elements that a test sets. */
async function startPrometheus(): Promise<{
  url: string;
  queries: string[];
  reply: { status: number; body: unknown };
}> {
  const queries: string[] = [];
  const reply = { status: 200, body: {} as unknown };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const asked = new URL(request.url ?? '', 'http://prometheus');
      queries.push(asked.searchParams.get('query') ?? new URLSearchParams(body).get('query') ?? '');
      response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries, reply };
}
const vector = (...values: string[]) => ({
  status: 'success',
  data: { resultType: 'vector', result: values.map((value) => ({ metric: { instance: 'a' }, value: [1, value] })) },
});

it('an alarm on Prometheus follows the elements of its query, and one that fails is no measurement', async () => {
  const prometheus = await startPrometheus();
  prometheus.reply.body = vector('0.95', '0.99');
  const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_PROMETHEUS_URL: prometheus.url });
  const query = 'avg by (instance) (rate(cpu{mode!="idle"}[5m]))';
  const properties = { query, threshold: 0.9, comparison_operator: 'gt', alarm_actions: ['up'], repeat_actions: false };
  await world.request(resourceCreate, 'p', { type: 'OS::Aodh::PrometheusAlarm', properties });
  const reaches = (wanted: string) =>
    eventually(async () => (await state(world, 'p')) === wanted, { what: `the state ${wanted}` });
  await reaches('alarm');
  expect(prometheus.queries[0]).toBe(query);
  await eventually(() => world.signals.length === 1, { what: 'the signal' });
  // A mixed result keeps the state.
  prometheus.reply.body = vector('0.95', '0.1');
  const [before, began] = [prometheus.queries.length, Date.now()];
  await eventually(() => prometheus.queries.length > before + 1, { what: 'an evaluation' });
  // With the default, one in 60 s.
  expect(Date.now() - began).toBeLessThan(55_000);
  expect(await state(world, 'p')).toBe('alarm');
  prometheus.reply.body = vector('0.2', '0.1');
  await reaches('ok');
  prometheus.reply.body = vector('NaN');
  await reaches('insufficient data');
  prometheus.reply.body = vector('0.2');
  await reaches('ok');
  Object.assign(prometheus.reply, { status: 503, body: { status: 'error', error: 'starting' } });
  await reaches('insufficient data');
  expect(world.signals).toHaveLength(1);
});

it('is refused above the number of alarms that a project may have', async () => {
  const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_MAX_ALARMS: '1' });
  const properties = { metric: 'load', threshold: 10 };
  for (const id of ['a', 'b']) await world.request(resourceCreate, id, { properties });
  const refused = await eventually(() => world.answers.find(({ resource_id: id }) => id === 'b'));
  expect(refused.error).toMatchObject({
    code: 'QuotaExceeded',
    message: expect.stringContaining('ANNEAL_NOTIFICATION_MAX_ALARMS') as string,
  });
});

describe('each type of alarm', () => {
  const actions = { alarm_actions: ['up'], repeat_actions: false };
  const gnocchi = {
    threshold: 10,
    comparison_operator: 'gt',
    aggregation_method: 'mean',
    granularity: 1,
    evaluation_periods: 1,
  };
  const meter = { meter_name: 'load', statistic: 'avg', period: 1, evaluation_periods: 1, threshold: 10 };
  const ceilometer = { ...meter, comparison_operator: 'gt', ...actions };
  const cloudWatch = {
    MetricName: 'load',
    Namespace: 'own',
    Statistic: 'Average',
    Threshold: '10',
    ComparisonOperator: 'GreaterThanThreshold',
    Period: '1',
    EvaluationPeriods: '1',
    AlarmActions: ['up'],
  };
  const ofHost = { metric: 'load', resource_type: 'instance', resource_id: 'web-1', ...gnocchi, ...actions };
  const ofSearch = { metric: 'load', resource_type: 'instance', query: '{"=": {"role": "front"}}' };
  const ofResources = { ...ofSearch, ...gnocchi, ...actions };
  /** `series` is the id of the series of the measurements. */
  const ofMetrics = (series: string) => ({ metrics: [series], ...gnocchi, ...actions });
  const compared: Readonly<Record<string, (series: string) => JsonObject>> = {
    'Anneal::Alarm': () => high({ ok_actions: [] }),
    'OS::Aodh::Alarm': () => ceilometer,
    'OS::Ceilometer::Alarm': () => ceilometer,
    'OS::Metering::Alarm': () => ceilometer,
    'OS::Aodh::GnocchiResourcesAlarm': () => ofHost,
    'OS::Ceilometer::GnocchiResourcesAlarm': () => ofHost,
    'OS::Aodh::GnocchiAggregationByResourcesAlarm': () => ofResources,
    'OS::Ceilometer::GnocchiAggregationByResourcesAlarm': () => ofResources,
    'OS::Aodh::GnocchiAggregationByMetricsAlarm': ofMetrics,
    'OS::Ceilometer::GnocchiAggregationByMetricsAlarm': ofMetrics,
    'OS::Aodh::CompositeAlarm': (series) => ({
      ...actions,
      composite_rule: {
        operator: 'and',
        rules: [
          { type: 'gnocchi_aggregation_by_metrics_threshold', metrics: [series], ...gnocchi },
          { type: 'gnocchi_aggregation_by_resources_threshold', ...ofSearch, ...gnocchi },
        ],
      },
    }),
    'AWS::CloudWatch::Alarm': () => cloudWatch,
    'OS::Heat::CWLiteAlarm': () => cloudWatch,
  };
  /** Types that compare no measurements of this server. Other tests of this file, and of Prometheus, see them act. */
  const others = ['Anneal::AlertmanagerAlarm', 'OS::Aodh::EventAlarm', 'OS::Aodh::PrometheusAlarm'];

  it('has a test below that sees it act', () => {
    const served = measuringTypes.map(({ type }) => type).filter((type) => type.endsWith('Alarm'));
    expect(served.toSorted()).toEqual([...Object.keys(compared), ...others].toSorted());
  });

  it.each(Object.entries(compared))('%s signals its policy when the measurements cross', async (type, propertiesOf) => {
    const world = await startAlarms();
    const measure = (value: number) =>
      world.ask(metricPost, {
        project,
        id: `t${(batch += 1)}`,
        poster: { kind: 'user' },
        measurements: [{ name: 'load', value, labels: { role: 'front', host_name: 'web-1', Namespace: 'own' } }],
      });
    await measure(1);
    const series = await eventually(
      async () => (await world.ask(metricList, { project, where: {}, limit: 10 })).series[0]?.id,
      { what: 'the series' },
    );
    const made = await world.request(resourceCreate, 'a1', { type, properties: propertiesOf(series) });
    expect(made).toMatchObject({ status: 'complete' });
    await eventually(
      async () => {
        await measure(20);
        return world.signals.length > 0 || undefined;
      },
      { what: `the signal of ${type}`, last: () => world.changes },
    );
    expect(world.signals[0]).toMatchObject({ resource: 'up', body: { current: 'alarm' } });
  });
});

describe('a property of an alarm', () => {
  const never = [{ name: 'never', start: '0 0 29 2 *', duration: 1 }];
  /** The measurement: 20, with these labels. An alarm with the base is in alarm, and one of each list is or is not. */
  const labels = { role: 'front', size: '10', host_name: 'web-1', Namespace: 'own' };
  const gnocchi = { comparison_operator: 'gt', threshold: 10, granularity: 1 };
  const quietOfGnocchi: JsonObject[] = [
    { comparison_operator: 'lt' },
    { threshold: 100 },
    { granularity: 3600 },
    { evaluation_periods: 100 },
    { aggregation_method: 'count' },
    { metric: 'other' },
    { enabled: false },
    { time_constraints: never },
  ];
  const resized = (type: string, value: string) => ({ query: [{ field: 'size', op: 'gt', type, value }] });
  const cases: Readonly<Record<string, { base: JsonObject; quiet: JsonObject[]; loud?: JsonObject[] }>> = {
    'Anneal::Alarm': {
      base: { metric: 'load', threshold: 10, period: 1 },
      quiet: [
        { metric: 'other' },
        { threshold: 100 },
        { period: 3600 },
        { periods: 100 },
        { comparison: 'lt' },
        { aggregate: 'count' },
        { labels: { role: 'back' } },
        { warm_up: 3600 },
        { enabled: false },
      ],
      loud: [{ labels: { role: 'front' } }],
    },
    'OS::Aodh::Alarm': {
      base: { meter_name: 'load', comparison_operator: 'gt', threshold: 10, period: 1 },
      quiet: [
        { meter_name: 'other' },
        { threshold: 100 },
        { period: 3600 },
        { evaluation_periods: 100 },
        { comparison_operator: 'lt' },
        { statistic: 'count' },
        { matching_metadata: { role: 'back' } },
        resized('string', '9'),
        { enabled: false },
        { time_constraints: never },
      ],
      loud: [resized('integer', '9'), { time_constraints: [{ name: 'ever', start: '* * * * *', duration: 60 }] }],
    },
    'OS::Aodh::GnocchiResourcesAlarm': {
      base: { ...gnocchi, metric: 'load', resource_id: 'web-1', resource_type: 'instance' },
      quiet: [...quietOfGnocchi, { resource_id: 'web-2' }],
    },
    'OS::Aodh::GnocchiAggregationByResourcesAlarm': {
      base: { ...gnocchi, metric: 'load', query: '{"=": {"role": "front"}}', resource_type: 'instance' },
      quiet: [...quietOfGnocchi, { query: '{"=": {"role": "back"}}' }],
    },
    'AWS::CloudWatch::Alarm': {
      base: {
        MetricName: 'load',
        Namespace: 'own',
        Statistic: 'Average',
        Threshold: '10',
        ComparisonOperator: 'GreaterThanThreshold',
        Period: '1',
        EvaluationPeriods: '1',
      },
      quiet: [
        { MetricName: 'other' },
        { Namespace: 'foreign' },
        { Statistic: 'SampleCount' },
        { Threshold: '100' },
        { ComparisonOperator: 'LessThanThreshold' },
        { Period: '3600' },
        { EvaluationPeriods: '100' },
        { Dimensions: [{ Name: 'role', Value: 'back' }] },
      ],
      loud: [{ Dimensions: [{ Name: 'role', Value: 'front' }] }],
    },
  };
  const actionsOf = (type: string): string => (type.startsWith('AWS') ? 'AlarmActions' : 'alarm_actions');

  it.each(Object.entries(cases))('decides whether %s signals', async (type, { base, quiet, loud = [] }) => {
    const world = await startAlarms();
    const create = async (name: string, more: JsonObject): Promise<string> => {
      const properties = { ...base, ...more, [actionsOf(type)]: [name] };
      expect(await world.request(resourceCreate, name, { type, properties })).toMatchObject({ status: 'complete' });
      return name;
    };
    const signalled = (name: string): number => world.signals.filter(({ resource }) => resource === name).length;
    for (const [index, more] of quiet.entries()) await create(`quiet-${index}`, more);
    const wanted: string[] = [];
    for (const [index, more] of [{}, ...loud].entries()) wanted.push(await create(`loud-${index}`, more));
    const measure = () =>
      world.ask(metricPost, {
        project,
        id: `m${(batch += 1)}`,
        poster: { kind: 'user' },
        measurements: [{ name: 'load', value: 20, labels }],
      });
    await eventually(
      async () => {
        await measure();
        // The others were evaluated as often.
        return wanted.every((name) => signalled(name) >= 2);
      },
      { what: 'the signals', last: () => wanted.map((name) => [name, signalled(name)]) },
    );
    expect(quiet.filter((_, index) => signalled(`quiet-${index}`) > 0)).toEqual([]);
  });

  it.each([
    ['OS::Aodh::EventAlarm', { alarm_actions: ['a'], ok_actions: ['o'], insufficient_data_actions: ['i'] }],
    ['Anneal::Alarm', { alarm_actions: ['a'], ok_actions: ['o'], insufficient_data_actions: ['i'] }],
    ['AWS::CloudWatch::Alarm', { AlarmActions: ['a'], OKActions: ['o'], InsufficientDataActions: ['i'] }],
  ])('names the targets of each state of %s, which get the rest', async (type, targets) => {
    const world = await startAlarms();
    const isAmazon = type.startsWith('AWS');
    const more = isAmazon ? { AlarmDescription: 'd', Period: '3600' } : { description: 'd', severity: 'critical' };
    const properties = { ...cases[type]?.base, ...more, ...targets };
    await world.request(resourceCreate, 'a1', { type, properties });
    const targetOf: Readonly<Record<string, string>> = { alarm: 'a', ok: 'o', 'insufficient data': 'i' };
    for (const wanted of ['alarm', 'ok', 'insufficient data'] as const) {
      const from = world.signals.length;
      await world.ask(alarmSet, { project, alarm: 'a1', state: wanted });
      const hasArrived = () => world.signals.slice(from).some(({ body }) => body['current'] === wanted);
      await eventually(hasArrived, { what: wanted });
    }
    // Evaluations between the requests signal too.
    const wrong = world.signals.filter(({ resource, body }) => targetOf[body['current'] as string] !== resource);
    expect(wrong).toEqual([]);
    if (!isAmazon) expect(world.signals[0]?.body).toMatchObject({ severity: 'critical' });
    expect(await world.ask(alarmShow, { project, alarm: 'a1' })).toMatchObject({ description: 'd' });
  });

  it('names the queues of each state', async () => {
    const world = await startAlarms();
    const posts: string[] = [];
    const configuration = await world.context.bus.consume(
      requestsQueue('configuration'),
      routeMessages([
        answer(world.context, queuePost, async ({ data }) => {
          posts.push(data.queue);
          return { ids: [] };
        }),
      ]),
    );
    atEnd(() => configuration.stop());
    const properties = { alarm_queues: ['a'], ok_queues: ['o'], insufficient_data_queues: ['i'] };
    await world.request(resourceCreate, 'a1', { type: 'OS::Aodh::EventAlarm', properties });
    for (const [index, wanted] of (['alarm', 'ok', 'insufficient data'] as const).entries()) {
      await world.ask(alarmSet, { project, alarm: 'a1', state: wanted });
      await eventually(() => posts.length > index, { what: wanted });
    }
    expect(posts).toEqual(['a', 'o', 'i']);
  });
});

describe('an alarm', () => {
  it('does not count the hosts of a warm pool, unless it names their label', async () => {
    const world = await startAlarms();
    const most = { aggregate: 'max', period: 1 };
    await world.request(resourceCreate, 'group', { properties: high(most) });
    await world.request(resourceCreate, 'pool', { properties: high({ ...most, labels: { warm_pool: 'true' } }) });
    await eventually(
      async () => {
        const measurements = [
          { name: 'load', value: 99, labels: { warm_pool: 'true' } },
          { name: 'load', value: 1 },
        ];
        await world.ask(metricPost, { project, id: `w${(batch += 1)}`, poster: { kind: 'user' }, measurements });
        return ((await state(world, 'pool')) === 'alarm' && (await state(world, 'group')) === 'ok') || undefined;
      },
      { what: 'the state of both alarms' },
    );
    expect(world.changes.filter(({ alarm_id: id, state: to }) => id === 'group' && to === 'alarm')).toEqual([]);
  });

  it('signals a policy of its stack once per crossing, publishes each change and keeps a history', async () => {
    const world = await startAlarms();
    expect(await world.request(resourceCreate, 'a1', { properties: high() })).toMatchObject({ status: 'complete' });
    await postUntil(world, 20, () => world.signals.length > 0);
    expect(world.signals[0]).toMatchObject({
      resource: 'up',
      body: { current: 'alarm', previous: 'insufficient data' },
    });
    await postUntil(world, 1, () => world.signals.length > 1 && world.changes.length > 1);
    expect(world.signals.map(({ resource }) => resource)).toEqual(['up', 'down']);
    expect(world.changes.map(({ previous, state: after }) => [previous, after])).toEqual([
      ['insufficient data', 'alarm'],
      ['alarm', 'ok'],
    ]);
    expect(world.changes[0]?.['origin']).toEqual({
      ...webPlace,
      actor: { kind: 'alarm', id: 'a1', name: 'high' },
      cause: { kind: 'system', id: null, reason: world.changes[0]?.['reason'] },
    });
    const history = await eventually(async () => {
      const answered = await world.ask(alarmHistory, { project, alarm: 'high', limit: 10 });
      return answered.history.length < 4 ? undefined : answered.history;
    });
    expect(history.map(({ kind }) => kind).toSorted()).toEqual([
      'action',
      'action',
      'state transition',
      'state transition',
    ]);
    expect((await world.ask(alarmList, { project, state: 'ok' })).alarms).toHaveLength(1);
    const { series } = await world.ask(alarmSeries, { project, alarm: 'high', periods: 600 });
    expect(series).toMatchObject([{ threshold: 10, granularity: 1 }]);
    const points = series[0]?.points ?? [];
    expect(points).toHaveLength(600);
    const compared = points.flatMap(({ value, outside }) => (value === null ? [] : [[value, outside]]));
    // A period in which the load changes has a mean between the two.
    expect(compared[0]).toEqual([20, true]);
    expect(compared.at(-1)?.[1]).toBe(false);
  });

  it.each(['alarm.evaluated', 'alarm.acted'])('A5: acts once when the process dies at %s', async (point) => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high() });
    let died = 0;
    armFault(point, () => {
      died += 1;
      if (died === 1) throw new Error('the process dies');
    });
    await postUntil(world, 20, async () => died > 0);
    await world.stop();
    await world.start();
    await postUntil(world, 20, async () => {
      const shown = await world.ask(alarmShow, { project, alarm: 'a1' });
      return (
        shown.state === 'alarm' && shown.pending.length === 0 && world.signals.length > 0 && world.changes.length > 0
      );
    });
    expect(world.signals.map(({ resource }) => resource)).toEqual(['up']);
    expect(world.changes).toHaveLength(1);
  });

  it('A4: publishes each change once while others change and evaluate it', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high() });
    const set = (to: 'alarm' | 'ok') => world.ask(alarmSet, { project, alarm: 'a1', state: to });
    for (let round = 0; round < 20; round += 1)
      await Promise.all([post(world, 20), set('ok'), set('alarm'), set('ok')]);
    const alarms = await world.context.store.collection<AlarmDocument>({ name: 'notification_alarms', indexes: [] });
    await eventually(async () => (await alarms.get('a1'))?.open === false);
    const versions = world.changes.map(({ version }) => version);
    expect(versions.length).toBeGreaterThan(20);
    expect(versions).toEqual([...new Set(versions)]);
  });

  it('repeats its actions, with a new signal for each evaluation', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high({ repeat_actions: true }) });
    await postUntil(world, 20, () => world.signals.length >= 3);
    expect(new Set(world.signals.map(({ id }) => id)).size).toBe(world.signals.length);
    expect(world.changes).toHaveLength(1);
  });

  it('keeps its state without data, and reports insufficient data where it asks for that', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'kept', { properties: high({ alarm_actions: [], ok_actions: [] }) });
    await world.request(resourceCreate, 'open', {
      properties: high({ missing: 'insufficient', alarm_actions: [], ok_actions: [] }),
    });
    await postUntil(
      world,
      20,
      async () => (await state(world, 'kept')) === 'alarm' && (await state(world, 'open')) === 'alarm',
    );
    await eventually(async () => (await state(world, 'open')) === 'insufficient data');
    expect(await state(world, 'kept')).toBe('alarm');
  });

  it('sends every value to the targets of values', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high({ threshold: 100, value_actions: ['track'] }) });
    await postUntil(world, 7, () => world.signals.filter(({ resource }) => resource === 'track').length >= 2);
    expect(world.signals.find(({ resource }) => resource === 'track')?.body).toMatchObject({ value: 7 });
  });

  it('A6: retries a signal while scheduling is away, and gives up on one that cannot succeed', async () => {
    const world = await startAlarms({
      ...quick,
      ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.05,0.05,0.05,0.05,0.05,0.05,60',
    });
    await world.request(resourceCreate, 'a1', { properties: high() });
    world.refuse = new AnnealError('Unavailable', 'away');
    await postUntil(world, 20, async () => {
      const { pending } = await world.ask(alarmShow, { project, alarm: 'a1' });
      return pending.some(({ attempts }) => attempts > 1);
    });
    world.refuse = undefined;
    await eventually(() => world.signals.length === 1);
    world.refuse = new AnnealError('NotFound', 'There is no resource down.');
    const refused = 'down: There is no resource down. (given up)';
    await postUntil(world, 1, async () => (await failuresOf(world)).includes(refused));
    const failures = await failuresOf(world);
    expect(failures.slice(1).length).toBeGreaterThan(1);
    expect(new Set(failures)).toEqual(new Set([refused, 'up: Unavailable: away']));
    expect((await world.ask(alarmShow, { project, alarm: 'a1' })).pending).toEqual([]);
  });

  it('A6: attempts a webhook again when it refuses, after the time that it asks for, until it answers 410', async () => {
    const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1,0.1,0.1' });
    const times: number[] = [];
    const listener = await listen((_, count) => {
      times.push(world.context.now().getTime());
      if (count === 1) return { status: 404 };
      return count === 2 ? { status: 503, headers: { 'retry-after': '30' } } : { status: 410 };
    });
    await world.request(resourceCreate, 'a1', { properties: high({ alarm_actions: [listener.url] }) });
    await world.ask(alarmSet, { project, alarm: 'a1', state: 'alarm' });
    const target = new URL(listener.url).origin;
    await eventually(async () => (await failuresOf(world)).length === 3);
    expect(await failuresOf(world)).toEqual([
      `${target}: the listener answered 410 (given up)`,
      `${target}: the listener answered 503`,
      `${target}: the listener answered 404`,
    ]);
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).toBeLessThan(30_000);
    expect(third - second).toBeGreaterThanOrEqual(30_000);
    expect((await world.ask(alarmShow, { project, alarm: 'a1' })).pending).toEqual([]);
    expect(listener.received).toHaveLength(3);
  });

  it('A6: is done with a target that no attempt reaches after the last retry', async () => {
    const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1,0.1' });
    const away = await listen();
    await away.close();
    await world.request(resourceCreate, 'a1', { properties: high({ alarm_actions: [away.url] }) });
    await world.ask(alarmSet, { project, alarm: 'a1', state: 'alarm' });
    await eventually(async () => (await failuresOf(world)).length === 3);
    const [last, ...before] = await failuresOf(world);
    expect(last).toMatch(/ECONNREFUSED.*\(given up\)$/);
    for (const each of before) expect(each).toMatch(/ECONNREFUSED[^()]*$/);
    expect((await world.ask(alarmShow, { project, alarm: 'a1' })).pending).toEqual([]);
  });

  it('posts to queues, once also when an answer is lost', async () => {
    const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1,0.1' });
    const posts: { id: string; data: unknown }[] = [];
    const configuration = await world.context.bus.consume(
      requestsQueue('configuration'),
      routeMessages([
        answer(world.context, queuePost, async ({ id, data }) => {
          posts.push({ id, data });
          if (posts.length === 1) throw new AnnealError('Unavailable', 'away');
          return { ids: [] };
        }),
      ]),
    );
    atEnd(() => configuration.stop());
    const properties = high({ alarm_actions: ['trust+zaqar://?queue_name=ops'] });
    await world.request(resourceCreate, 'a1', { properties });
    await world.ask(alarmSet, { project, alarm: 'a1', state: 'alarm' });
    await eventually(async () => (await historyOf(world)).some(({ kind }) => kind === 'action'));
    expect((await historyOf(world)).find(({ kind }) => kind === 'action')?.detail).toBe('queue:ops');
    expect(new Set(posts.map(({ id }) => id)).size).toBe(1);
    expect(posts.at(-1)?.data).toMatchObject({
      project,
      queue: 'ops',
      client_id: 'a1',
      messages: [{ ttl: 86_400, body: { body: { alarm_id: 'a1', current: 'alarm' } } }],
    });
  });

  it('lists what an earlier version stored in its history', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high() });
    const stored = await world.context.store.collection<HistoryDocument>({
      name: 'notification_alarm_history',
      indexes: [{ fields: ['alarm', 'at'] }],
    });
    await stored.insert({ id: 'h1', alarm: 'a1', at: 1000, kind: 'action failed', detail: 'up: it was away' });
    await world.ask(alarmSet, { project, alarm: 'a1', state: 'alarm' });
    await eventually(async () => (await historyOf(world)).length === 3);
    const history = await historyOf(world);
    expect(history.at(-1)).toEqual({
      at: new Date(1000).toISOString(),
      kind: 'action failed',
      detail: 'up: it was away',
    });
    expect(
      history
        .map(({ kind }) => kind)
        .slice(0, 2)
        .toSorted(),
    ).toEqual(['action', 'state transition']);
    await world.request(resourceDelete, 'a1', {});
    const attempts = await world.context.store.collection({ name: 'notification_attempts', indexes: [] });
    expect([await stored.count({}), await attempts.count({})]).toEqual([0, 0]);
  });

  it('posts to other addresses without a login, and to the signal addresses of this server inside', async () => {
    const world = await startAlarms();
    const listener = await listen();
    const { secrets, gatewayUrl } = world.context;
    const grant = { project, stack_id: 's9', stack_name: 'x', resource_id: 'r9', resource_name: 'policy' };
    const inside = signedSignalUrl(gatewayUrl, { secrets, grant, as: 'signal' });
    await world.request(resourceCreate, 'a1', { properties: high({ alarm_actions: [listener.url, inside] }) });
    await postUntil(world, 20, () => listener.received.length > 0 && world.signals.length > 0);
    expect(JSON.parse(listener.received[0]?.body ?? '')).toMatchObject({ current: 'alarm', severity: 'low' });
    const headers = listener.received[0]?.headers ?? {};
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'anneal' });
    expect(headers['x-openstack-request-id']).toMatch(/^req-[0-9a-f-]{36}$/);
    expect(Object.keys(headers).filter((name) => /^(webhook|ce)-/.test(name))).toEqual([]);
    expect(world.signals[0]?.resource).toBe('policy');
    const shown = JSON.stringify(await world.ask(alarmShow, { project, alarm: 'a1' }));
    expect(shown).not.toContain(new URL(inside).searchParams.get('Signature'));
    await eventually(async () => (await historyOf(world)).filter(({ kind }) => kind === 'action').length === 2);
    const actions = (await historyOf(world)).filter(({ kind }) => kind === 'action').map(({ detail }) => detail);
    expect(actions.toSorted()).toEqual([new URL(listener.url).origin, 'policy']);
  });

  it('refuses targets of another project, of private addresses and with trust elsewhere', async () => {
    const world = await startAlarms({ ...quick, ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'false' });
    const { secrets, gatewayUrl } = world.context;
    const grant = { project: 'p2', stack_id: 's9', stack_name: 'x', resource_id: 'r9', resource_name: 'policy' };
    const foreign = signedSignalUrl(gatewayUrl, { secrets, grant, as: 'signal' });
    for (const target of [foreign, 'http://127.0.0.1/x', 'trust+https://example.com/x', 'ftp://example.com/']) {
      const answered = await world.request(resourceCreate, world.context.newId(), {
        properties: high({ alarm_actions: [target] }),
      });
      expect(answered, target).toMatchObject({ status: 'failed', error: { code: 'InvalidRequest' } });
    }
  });

  it('takes each matching event once', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'e1', {
      type: 'OS::Aodh::EventAlarm',
      properties: { event_type: 'host.*', query: [{ field: 'name', op: 'eq', value: 'h1' }], alarm_actions: ['heal'] },
    });
    await world.happen('h2', 1);
    await world.happen('h1', 1);
    await eventually(() => world.signals.length === 1);
    await world.happen('h1', 2);
    await eventually(() => world.signals.length === 2);
    expect(await state(world, 'e1')).toBe('alarm');
    expect(world.signals[0]?.body).toMatchObject({ reason_data: { type: 'event' } });
  });

  it('neither evaluates nor acts while suspended, and is gone after its deletion', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high() });
    await world.request(resourceSuspend, 'a1', {});
    await world.request(resourceCreate, 'a2', { properties: high({ alarm_actions: ['other'] }) });
    await postUntil(world, 20, () => world.signals.length > 0);
    expect(world.signals.map(({ resource }) => resource)).toEqual(['other']);
    await world.request(resourceDelete, 'a1', {});
    await expect(state(world, 'a1')).rejects.toThrow(/no alarm a1/);
  });

  it('has its state set by an operator, and then acts', async () => {
    const world = await startAlarms();
    await world.request(resourceCreate, 'a1', { properties: high() });
    const occasion: Occasion = {
      actor: { kind: 'user', id: 'u', name: 'operator' },
      cause: { kind: 'request', id: 'r', reason: null },
    };
    const set = await world.ask(alarmSet, { project, alarm: 'a1', state: 'alarm', occasion });
    expect(set.state_reason).toBe('Manually set via API');
    await eventually(() => world.signals.length === 1 && world.changes.length === 1);
    expect(world.changes[0]?.['origin']).toEqual({ ...webPlace, ...occasion });
  });
});
