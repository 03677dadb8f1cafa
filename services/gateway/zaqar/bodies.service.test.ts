import { afterAll, beforeAll, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ ANNEAL_GATEWAY_QUEUE_PAGE: '2', ANNEAL_GATEWAY_MESSAGE_SECONDS: '100' });
  await gateway.behind.post('work', { n: 0 });
});
afterAll(() => gateway.stop());

const call = (path: string, body: unknown, method = 'POST') =>
  gateway.call(method, `/messaging/v2/queues/work${path && `/${path}`}`, body, {
    'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
  });

const [request, field] = ['Invalid API request', 'Invalid request body'];
const range = 'may not exceed 100 seconds (ANNEAL_GATEWAY_MESSAGE_SECONDS), and must be at least 1 seconds long.';
const delayRange = 'The delay for a message may not exceed 900 seconds, and must be at least 0 seconds long.';
const purges = (types: unknown) =>
  `The "resource_types" of a purge are a list of messages and subscriptions, not ${JSON.stringify(types)}.`;
const otherScheme =
  "The subscriber type of subscription must be supported in the list ['http', 'https', 'mailto', 'trust+http', 'trust+https'].";
const subscriber = 'http://a.example';
const refused: [path: string, body: unknown, title: string, description: string][] = [
  ['messages', undefined, request, 'No messages were found in the request body.'],
  ['messages', [{ body: 1 }], request, 'No messages were found in the request body.'],
  ['messages', { messages: {} }, request, 'No messages were found in the request body.'],
  ['messages', { messages: [] }, request, 'No messages to enqueu.'],
  ['messages', { messages: [{ body: 1 }, 2] }, field, 'Missing "body" field.'],
  ['messages', { messages: [{ ttl: 60 }] }, field, 'Missing "body" field.'],
  ['messages', { messages: [{ body: 1, ttl: 'x' }] }, field, 'The value of the "ttl" field must be a int.'],
  ['messages', { messages: [{ body: 1, ttl: 1.5 }] }, field, 'The value of the "ttl" field must be a int.'],
  ['messages', { messages: [{ body: 1, ttl: 101 }] }, request, `The TTL for a message ${range}`],
  ['messages', { messages: [{ body: 1, delay: '5' }] }, field, 'The value of the "delay" field must be a int.'],
  ['messages', { messages: [{ body: 1, delay: 901 }] }, request, delayRange],
  ['messages', { messages: [{ body: 1, delay: -1 }] }, request, delayRange],
  ['messages', { messages: [{ body: 1, ttl: 0 }] }, request, `The TTL for a message ${range}`],
  ['claims', { ttl: true }, field, 'The value of the "ttl" field must be a int.'],
  ['claims', { grace: '1' }, field, 'The value of the "grace" field must be a int.'],
  ['claims', [], request, 'The request body must be a JSON object.'],
  ['claims', { batch: 21 }, request, 'The "batch" of a claim must be at least 1 and at most 20.'],
  ['claims', { batch: 'x' }, field, 'The value of the "batch" field must be a int.'],
  ['claims', { by_reference: 1 }, field, 'The value of the "by_reference" field must be a bool.'],
  ['claims', { answers: [] }, request, 'No messages to enqueu.'],
  ['claims', { answers: [{}] }, field, 'Missing "body" field.'],
  ['purge', [], request, 'The request body must be a JSON object.'],
  ['purge', { resource_types: [['messages']] }, field, purges([['messages']])],
  ['purge', { resource_types: 'messages' }, field, purges('messages')],
  ['purge', { resource_types: [] }, field, purges([])],
  ['purge', { resource_types: ['other'] }, field, purges(['other'])],
  ['subscriptions', {}, request, 'Missing parameter subscriber in body.'],
  ['subscriptions', { subscriber: null }, request, 'Missing parameter subscriber in body.'],
  ['subscriptions', { subscriber: 5 }, request, otherScheme],
  ['subscriptions', { subscriber: 'ftp://a.example' }, request, otherScheme],
  ['subscriptions', { subscriber: 'http://' }, request, 'The subscriber "http://" is not a URL.'],
  ['subscriptions', { subscriber, ttl: '60' }, request, 'TTL must be an integer.'],
  ['subscriptions', { subscriber, ttl: 59 }, request, 'The TTL for a subscription must be at least 60 seconds long.'],
  [
    'subscriptions',
    { subscriber, ttl: 315360001 },
    request,
    'The TTL for a subscription may not exceed 315360000 seconds.',
  ],
  ['subscriptions', { subscriber, options: [] }, request, 'Options must be a dict.'],
  ['subscriptions/s1/confirm', { confirmed: 'yes' }, request, "The 'confirmed' should be boolean."],
  ['share', { paths: ['stats'] }, request, 'paths must be a list of messages, subscriptions, claims.'],
  ['share', { expires: 'tomorrow' }, request, 'expires must be a time such as 2030-01-01T00:00:00.'],
  ['share', { expires: '2020-01-01T00:00:00' }, request, 'expires must be in the future.'],
];

it.each(refused)('a post to %s with %j is refused: %s, %s', async (path, body, title, description) => {
  const method = path.endsWith('confirm') ? 'PUT' : 'POST';
  const answer = await call(path, body, method);
  expect([answer.status, answer.json['title'], answer.json['description']]).toEqual([400, title, description]);
});

it('a post of too many messages is refused before each is read', async () => {
  const { json } = await call('messages', { messages: [1, 2, 3] });
  expect(json['description']).toBe('The post has 3 messages; it may have at most 2 (ANNEAL_GATEWAY_QUEUE_PAGE).');
});

it.each([
  ['messages', { messages: [{ body: null, ttl: null, more: 1 }, { body: { a: 1 } }] }, 201],
  ['claims', { ttl: null, grace: null, more: 1 }, 201],
  ['claims', null, 201],
  ['purge', { resource_types: ['subscriptions'] }, 204],
])('a post to %s with %j is accepted', async (path, body, status) => {
  expect((await call(path, body)).status).toBe(status);
});

it('a patch of metadata needs its own type', async () => {
  const patch = [{ op: 'add', path: '/metadata/a', value: 1 }];
  expect((await call('', patch, 'PATCH')).json).toMatchObject({ title: 'Unsupported media type' });
});

it('the form of an answer lives no longer than a message may', async () => {
  const form = new FormData();
  form.append('id', 'req-1');
  form.append('status_code', '0');
  const { status } = await fetch(`${gateway.url}/v1/queues/${host.name}/messages`, {
    method: 'POST',
    headers: { 'x-auth-token': hostToken },
    body: form,
  });
  expect(status).toBe(201);
  expect(JSON.parse(gateway.behind.sent.at(-1) ?? '{}')).toMatchObject({
    queue: host.responses_queue,
    messages: [{ body: { id: 'req-1', status_code: 0 }, ttl: 100 }],
  });
});

it.each([
  ['{"__proto__": {"ttl": 60}}', '__proto__'],
  ['{"constructor": {"prototype": {"ttl": 60}}}', 'constructor.prototype'],
  ['{"a": [{"\\u005f_pr\\u006fto__": null}]}', 'a.0.__proto__'],
])('the body %s is refused, because it could change the prototype of an object', async (body, path) => {
  const answer = await call('claims', body);
  expect([answer.status, answer.json['description']]).toEqual([
    400,
    `The request body has a forbidden prototype property: ${path}`,
  ]);
});

it('leaves the default of a time to live to the queue, within its own limit, and passes a delay on', async () => {
  const messages = [
    { body: 'first', delay: 30 },
    { body: 'second', delay: null, ttl: 70 },
  ];
  expect((await call('messages', { messages })).status).toBe(201);
  const posted = JSON.parse(gateway.behind.sent.at(-1) ?? '{}') as { messages: unknown; most_default_ttl: unknown };
  expect(posted.messages).toEqual([
    { body: 'first', delay: 30 },
    { body: 'second', ttl: 70 },
  ]);
  expect(posted.most_default_ttl).toBe(100);
});
