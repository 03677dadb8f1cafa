import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { readHostMessage } from './response-body.ts';

const at = '2026-01-01T00:00:00Z';
describe('a message from a host', () => {
  it.each([
    [{ id: 'r', status_code: 0 }, 'response'],
    [{ deploy_stdout: 'x', deploy_status_code: '3' }, 'anonymous response'],
    [{ id: 'r', deploy_status_code: 0, out: 1 }, 'response'],
    [{ id: 'r', progress: 'started', at }, 'progress'],
    [{ hello: true }, 'hello'],
  ] as [Json, string][])('%j is a %s', (body, kind) => {
    expect(readHostMessage(body)).toMatchObject({ ok: true, message: { kind } });
  });

  it.each([
    [null, ['body']],
    ['text', ['body']],
    [{}, ['body.id', 'body.status_code']],
    [{ hello: 'yes' }, ['body.hello']],
    [{ id: 'r', progress: 'half', at: 'now' }, ['body.progress', 'body.at']],
    [{ deploy_status_code: 'bad' }, ['body.status_code']],
  ] as [Json, string[]][])('%j is refused with every mistake', (body, paths) => {
    const read = readHostMessage(body);
    expect(read.ok ? [] : read.mistakes.map((mistake) => mistake.path)).toEqual(paths);
  });
});
