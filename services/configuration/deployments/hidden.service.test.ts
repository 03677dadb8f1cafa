/** Errors about a hidden property: they name the property, and do not quote its value. */
import type { Json } from '@anneal/contracts/json.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRig, type Rig } from '../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

it.each<[string, string, Json, string]>([
  ['OS::Heat::SoftwareDeployment', 'server', 'absent-host', 'Host ****** of hidden (property server)'],
  ['OS::Heat::OrderedConfig', 'hosted_on', 'absent-host', 'Host ****** of hidden (property hosted_on)'],
  ['OS::Heat::SoftwareDeployment', 'config', 'absent-config', 'The hidden config of hidden does not exist'],
  ['OS::Heat::OrderedConfig', 'options', { timeout: 'absent-number' }, 'properties.options.timeout: must be a number'],
  [
    'OS::Heat::OrderedConfig',
    'options',
    { reboot: 'absent-choice' },
    'properties.options.reboot: must be one of "after"',
  ],
  ['Anneal::Context', 'members', { all: 'absent-host' }, 'properties.members.all: host ****** does not exist'],
  ['Anneal::Context', 'configs', [{ config: 'absent-config' }], 'Config ****** of context hidden does not exist'],
])('the error of %s about its %s quotes nothing', async (type, property, value, message) => {
  const host = await rig.host('web');
  const base = type === 'Anneal::Context' ? { members: { all: host.id } } : { server: host.id };
  const others = type === 'OS::Heat::OrderedConfig' ? { hosted_on: host.id, script: 'true' } : base;
  const properties = { ...others, [property]: rig.context.secrets.seal(value) };
  const { resource } = await rig.request('create', { type, name: 'hidden', properties });
  const { error } = await rig.final(resource.id);
  expect(error?.message).toContain(message);
  expect(JSON.stringify(error)).not.toContain('absent');
});
