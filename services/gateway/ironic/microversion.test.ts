import { describe, expect, it } from 'vitest';
import { microversionOf } from './microversion.ts';

describe('microversions', () => {
  const of = (headers: Record<string, string>, path: string, method = 'GET') =>
    microversionOf(headers, { method, path });
  const own = (version: string) => ({ 'x-openstack-ironic-api-version': version });

  it('M1: accepts the range and latest, in both headers, and refuses others with the range', () => {
    for (const version of ['1.1', '1.80', '1.96']) expect(of(own(version), '/v1/nodes')).toEqual({ version });
    expect(of(own('latest'), '/v1/nodes')).toEqual({ version: '1.96' });
    expect(of({ 'openstack-api-version': 'compute 2.1, baremetal 1.31' }, '/v1/nodes')).toEqual({
      version: '1.31',
    });
    for (const wrong of ['1.0', '1.97', '2.1', '1', '1.x', '0.9', '1.1.1'])
      expect(of(own(wrong), '/v1/nodes'), wrong).toEqual({
        refused: {
          status: 406,
          message: `Version ${wrong} was requested but is not supported by this service. The supported version range is: [1.1, 1.96].`,
        },
      });
  });

  it('M2: hides an address from requests of an older version', () => {
    for (const [path, before, since] of [
      ['/v1/runbooks', '1.91', '1.92'],
      ['/v1/nodes/n1/history', '1.77', '1.78'],
      ['/v1/nodes/n1/inventory', '1.80', '1.81'],
      ['/v1/deploy_templates/CUSTOM_A', '1.54', '1.55'],
    ] as const) {
      expect(of(own(before), path)).toMatchObject({ refused: { status: 404 } });
      expect(of(own(since), path)).toEqual({ version: since });
    }
  });

  it('M2: refuses a change at a younger address as Ironic does', () => {
    for (const [method, path, before, status] of [
      ['POST', '/v1/allocations', '1.51', 405],
      ['PUT', '/v1/nodes/n1/traits/CUSTOM_A', '1.36', 405],
      ['GET', '/v1/nodes/n1/traits', '1.36', 406],
      ['DELETE', '/v1/nodes/n1/traits', '1.36', 404],
      ['PUT', '/v1/nodes/n1/states/raid', '1.11', 406],
    ] as const)
      expect(of(own(before), path, method), path).toMatchObject({ refused: { status } });
  });

  it('M3: gives the oldest to a request that names none', () => {
    expect(of({}, '/v1/nodes')).toEqual({ version: '1.1' });
    expect(of({ 'openstack-api-version': 'compute 2.90' }, '/v1/runbooks')).toMatchObject({ refused: { status: 404 } });
  });
});
