import { describe, expect, it } from 'vitest';
import { rollingOf } from './rolling-policy.ts';

const pausing = (PauseTime: string, creates = false) =>
  rollingOf({
    type: 'OS::Heat::InstanceGroup',
    kind: 'instances',
    properties: {},
    updatePolicy: { RollingUpdate: { PauseTime } },
    creates,
  });

it('a batch larger than any group counts as the largest integer of a message', () => {
  const rolling = rollingOf({
    type: 'OS::Heat::ResourceGroup',
    kind: 'numbered',
    properties: {},
    updatePolicy: { rolling_update: { max_batch_size: 1e20 } },
    creates: false,
  });
  expect(rolling?.batch).toBe(Number.MAX_SAFE_INTEGER);
});

describe('the pause between the batches of instances', () => {
  it.each([
    ['PT0S', 0],
    ['PT1M30S', 90],
    ['PT1H', 3600],
    ['PT60M', 3600],
  ])('%s is %d seconds', (text, seconds) => {
    expect(pausing(text)?.pause).toBe(seconds);
  });

  it('is at most an hour, or the creation of the group is refused', () => {
    expect(() => pausing('PT2H', true)).toThrow('Maximum PauseTime is 1 hour.');
    expect(() => pausing('PT1H1S')).toThrow('Maximum PauseTime is 1 hour.');
  });
});
