import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { expect, it } from 'vitest';
import { portable } from './portable.ts';

const secrets = createSecrets([new Uint8Array(32).fill(1)]);
const sealed = secrets.seal('hush');

it('an exported stack has its hidden parameters in the clear, and nothing that only this installation can open', async () => {
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

it('an exported stack has the seals that a user copied into it, as the user wrote them', async () => {
  const copies = { alone: sealed, within: { deep: [sealed], ...sealed }, list: [sealed, 1] };
  const attributes = { ...secrets.fromOutside(copies), secret: sealed, mixed: [secrets.fromOutside(sealed), sealed] };
  const exported = {
    environment: { parameters: secrets.fromOutside(copies) },
    resources: { a: { attributes }, n: { resources: { b: { metadata: secrets.fromOutside(copies) } } } },
  };
  const file = await portable(exported, secrets);
  expect(file).toEqual({
    environment: { parameters: copies },
    resources: { a: { attributes: copies }, n: { resources: { b: { metadata: copies } } } },
  });
  expect(secrets.fromOutside(file)).toEqual({
    environment: exported.environment,
    resources: { a: { attributes: secrets.fromOutside(copies) }, n: exported.resources.n },
  });
});
