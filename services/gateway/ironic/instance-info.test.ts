import { describe, expect, it } from 'vitest';
import { withoutInstanceSecrets, maskSecrets } from './instance-info.ts';

describe('secrets in instance_info', () => {
  it('are hidden by the names of their keys, at any depth, as Ironic shows them', () => {
    const given = {
      root_gb: 10,
      configdrive: 'H4sI',
      image_url: 'u',
      image_source: 'i',
      a: [{ adminPass: 'p', b: 'c' }],
    };
    expect(maskSecrets(given)).toEqual({
      root_gb: 10,
      configdrive: '******',
      image_url: '******',
      image_source: 'i',
      a: [{ adminPass: '******', b: 'c' }],
    });
  });

  it('are hidden in a patch of it, and nowhere else', () => {
    const patch = withoutInstanceSecrets([
      { op: 'add', path: '/instance_info/rescue_password', value: 'p' },
      { op: 'add', path: '/instance_info', value: { token: 't', traits: [] } },
      { op: 'add', path: '/extra/password', value: 'p' },
      { op: 'remove', path: '/instance_info/token' },
    ]);
    expect(patch.map(({ value }) => value)).toEqual(['******', { token: '******', traits: [] }, 'p', undefined]);
  });
});
