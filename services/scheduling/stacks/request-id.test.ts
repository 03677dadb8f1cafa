import { expect, it } from 'vitest';
import { requestId, requestOfId, type NamedRequest } from './request-id.ts';

it.each<[NamedRequest, string]>([
  [{ kind: 'request', resource: 'r', fence: 3 }, 'r:3'],
  [{ kind: 'cancel', resource: 'r', fence: 3 }, 'r:3:cancel'],
  [{ kind: 'withdraw', resource: 'r', fence: 3 }, 'r:3:withdraw'],
  [{ kind: 'signal', resource: 'r', signal: 'a:b' }, 'r:signal:a:b'],
])('%j is read from its message id', (request, id) => {
  expect(requestId(request)).toBe(id);
  expect(requestOfId(id)).toEqual(request);
});

it.each(['', 'r', 'r:', 'r:x', 'r:3:other', ':3'])('the id "%s" names no request', (id) => {
  expect(requestOfId(id)).toBeUndefined();
});
