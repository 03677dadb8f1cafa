import { expect, it } from 'vitest';
import { physicalName } from './physical-name.ts';

const id = '0192d3a4-5b6c-7d8e-8f90-a1b2c3d4e5f6';

it('is the stack, the resource and the end of the id', () => {
  expect(physicalName({ stack: 'web', resource: 'server', id, limit: 255 })).toMatch(/^web-server-[a-z2-7]{12}$/);
});

it('is cut in the middle to the limit of its type, and keeps the part that tells incarnations apart', () => {
  const whole = physicalName({ stack: 'web'.repeat(90), resource: 'server', id, limit: 10_000 });
  for (const limit of [16, 53, 255]) {
    const name = physicalName({ stack: 'web'.repeat(90), resource: 'server', id, limit });
    expect(name).toHaveLength(limit);
    expect(name.startsWith('we-')).toBe(true);
    expect(whole.endsWith(name.slice(3))).toBe(true);
    expect(name.endsWith(whole.slice(-12))).toBe(true);
  }
});
