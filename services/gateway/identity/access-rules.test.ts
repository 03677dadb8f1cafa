import { describe, expect, it } from 'vitest';
import { allowedByRules } from './access-rules.ts';

const allows = (rule: string, request: string): boolean => {
  const [method = '', service = '', path = ''] = rule.split(' ');
  const [of = '', at = ''] = request.split(' ');
  return allowedByRules([{ method, service, path }], { method: of, path: at });
};

describe('an access rule', () => {
  it('allows its method of its paths of its service', () => {
    const rule = 'GET orchestration /v1/{project_id}/stacks';
    expect(allows(rule, 'GET /orchestration/v1/p/stacks')).toBe(true);
    for (const other of [
      'POST /orchestration/v1/p/stacks',
      'GET /orchestration/v1/p/stacks/web',
      'GET /orchestration/v1/p/q/stacks',
      'GET /orchestration/v1//stacks',
      'GET /messaging/v1/p/stacks',
      'GET /orchestrations/v1/p/stacks',
      'GET /api/v1/p/stacks',
    ]) {
      expect([other, allows(rule, other)]).toEqual([other, false]);
    }
  });

  it('costs little when rules and path are made for each other', () => {
    const before = process.cpuUsage();
    expect(allows(`GET api /${'**a'.repeat(70)}`, `GET /api/${'a'.repeat(2000)}b`)).toBe(false);
    expect(allows(`GET api /${'*a'.repeat(100)}`, `GET /api/${'a'.repeat(2000)}b`)).toBe(false);
    expect(allows('GET api /**', `GET /api/${'a'.repeat(3000)}`)).toBe(false);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
  });

  it('allows one part by * and any rest by **', () => {
    expect(allows('GET api /v1/*', 'GET /api/v1/hosts')).toBe(true);
    expect(allows('GET api /v1/*', 'GET /api/v1/hosts/h1')).toBe(false);
    expect(allows('GET api /v1/**', 'GET /api/v1/hosts/h1')).toBe(true);
    expect(allows('POST messaging /v2/queues/jobs/messages', 'POST /messaging/v2/queues/jobs/messages')).toBe(true);
    expect(allows('POST messaging /v2/queues/jobs/messages', 'POST /v2/queues/jobs/messages')).toBe(true);
  });

  it('reads every other character as itself', () => {
    expect(allows('GET api /v1/queues/a.b', 'GET /api/v1/queues/a.b')).toBe(true);
    expect(allows('GET api /v1/queues/a.b', 'GET /api/v1/queues/axb')).toBe(false);
    expect(allows('GET api /v1/(a|b)+$', 'GET /api/v1/a')).toBe(false);
    expect(allows('GET api /v1/{', 'GET /api/v1/{')).toBe(true);
  });

  it('always lets a program read and end its own token', () => {
    expect(allows('GET api /v1/hosts', 'DELETE /identity/v3/auth/tokens')).toBe(true);
    expect(allows('GET api /v1/hosts', 'GET /identity/v3/users')).toBe(false);
  });
});
