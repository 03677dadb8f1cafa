/** The name of an operation in the OpenAPI document, from which generated clients name their functions. */

/** Last words of an address that say what happens, not what is read. */
const verbs = new Set([
  'check',
  'confirm',
  'heartbeat',
  'import',
  'join',
  'pause',
  'replay',
  'resume',
  'retry',
  'rotate-secret',
  'test',
]);
/** Last words that are one thing, or have no singular. */
const single = new Set(['import', 'logs', 'overview', 'series', 'stream', 'why', 'ws']);
/** Addresses whose rule would say something else than they do. */
const exceptions: Readonly<Record<string, string>> = {
  'POST /alarms/{alarm}/state': 'setAlarmState',
  'POST /configs': 'storeConfig',
  'POST /executions/{id}/action': 'actOnExecution',
  'POST /hooks/{token}': 'completeHook',
  'POST /images/upload': 'uploadImage',
  'POST /metrics': 'postMeasurements',
  'GET /metrics': 'listSeries',
  'GET /metrics/{name}': 'aggregateMeasurements',
  'GET /projects/{project}/quota': 'getProjectQuota',
  'POST /projects/{project}/quota': 'setProjectQuota',
  'POST /queues/{queue}/messages': 'publishMessages',
  'GET /queues/{queue}/messages': 'peekMessages',
  'DELETE /queues/{queue}/messages': 'purgeQueue',
  'DELETE /dead-letters': 'purgeDeadLetters',
  'GET /queues/{queue}/watch': 'watchQueue',
  'POST /stacks/{stack}/actions': 'actOnStack',
  'POST /stacks/{stack}/resources/{resource}/actions': 'actOnResource',
  'POST /stacks/{stack}/groups/{group}/actions': 'actOnGroup',
  'GET /subscriptions/{id}/confirm': 'confirmSubscriptionByLink',
};

const singular = (word: string): string =>
  single.has(word) ? word : word.replace(/ies$/, 'y').replace(/(?<!s)s$/, '');

const camel = (words: readonly string[]): string =>
  words
    .flatMap((word) => word.split(/[-_]/))
    .map((word, index) => (index === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
    .join('');

/**
 * `listHosts`, `getHost`, `createSubscription`, `pauseSubscription`: the verb, the things that the address goes through,
 * and the last one in the plural for a list.
 */
export function operationName(method: string, path: string): string {
  const exception = exceptions[`${method} ${path}`];
  if (exception !== undefined) return exception;
  const parts = path.split('/').slice(1);
  const named = parts.filter((part) => !part.startsWith('{'));
  const last = named.at(-1) ?? '';
  const isItem = parts.at(-1)?.startsWith('{') === true;
  const owners = named.slice(0, -1).map(singular);
  if (method === 'POST' && verbs.has(last)) {
    const [verb = '', ...object] = last.split('-');
    return camel([verb, ...owners, ...object]);
  }
  if (method === 'GET' && !isItem && last.endsWith('s') && !single.has(last)) return camel(['list', ...owners, last]);
  const verb = { GET: 'get', POST: 'create', PUT: 'replace', PATCH: 'change', DELETE: 'delete' }[method] ?? 'get';
  return camel([verb, ...owners, singular(last)]);
}
