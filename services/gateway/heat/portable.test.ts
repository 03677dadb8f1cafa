import { createSecrets } from '@anneal/runtime/secrets.ts';
import { expect, it } from 'vitest';
import { portable } from './portable.ts';

it('an exported stack has its hidden parameters in the clear, and nothing that only this installation can open', async () => {
  const secrets = createSecrets([new Uint8Array(32).fill(1)]);
  const sealed = secrets.seal('hush');
  const resource = { resource_id: 'r', attributes: { plain: 1, secret: sealed }, metadata: { m: sealed } };
  const exported = {
    environment: { parameters: { password: sealed } },
    resources: {
      a: resource,
      n: { resource_id: 'n', environment: { parameters: { p: sealed } }, resources: { b: resource } },
    },
  };
  const bare = { resource_id: 'r', attributes: { plain: 1 }, metadata: {} };
  expect(await portable(exported, secrets)).toEqual({
    environment: { parameters: { password: 'hush' } },
    resources: { a: bare, n: { resource_id: 'n', environment: { parameters: { p: 'hush' } }, resources: { b: bare } } },
  });
});
