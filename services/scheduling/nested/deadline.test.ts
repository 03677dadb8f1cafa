import { describe, expect, it } from 'vitest';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { deadlineOf } from './deadline.ts';

const now = new Date('2030-01-01T00:00:00.000Z');
const secrets = createSecrets([new Uint8Array(32)]);
const deadline = '2030-01-01T01:00:00.000Z';
const of = (type: string, properties: Record<string, number>) =>
  deadlineOf({ secrets, now }, { resource: { type }, properties, deadline });

describe('the deadline of a nested stack', () => {
  it('is earlier when its own properties allow less time', () => {
    expect(of('OS::Heat::Stack', { timeout: 5 })).toBe('2030-01-01T00:05:00.000Z');
    expect(of('AWS::CloudFormation::Stack', { TimeoutInMinutes: 5 })).toBe('2030-01-01T00:05:00.000Z');
  });

  it('is that of its parent otherwise', () => {
    expect(of('OS::Heat::Stack', { timeout: 500 })).toBe(deadline);
    expect(of('OS::Heat::Stack', {})).toBe(deadline);
    expect(of('template.yaml', { timeout: 5 })).toBe(deadline);
  });
});
