import { expect, it } from 'vitest';
import { BmcError } from '../bmc/bmc-error.ts';
import { readBiosDetails } from './bios-registry.ts';
import type { Answer } from './conversation/http.ts';

const base = '/redfish/v1/Registries';
const registry = {
  RegistryEntries: {
    Attributes: [
      {
        AttributeName: 'Boot',
        Type: 'Enumeration',
        ReadOnly: false,
        Value: [{ ValueName: 'Uefi' }, { ValueName: 'Bios' }],
      },
      { AttributeName: 'Cores', Type: 'Integer', LowerBound: 0, UpperBound: 64, ResetRequired: true },
      { Type: 'String' },
    ],
  },
};
const bodies: Record<string, object> = {
  '/redfish/v1/': { Registries: { '@odata.id': base } },
  [base]: { Members: [{ '@odata.id': `${base}/Base.1.0` }, { '@odata.id': `${base}/BiosAttributes.v2` }] },
  [`${base}/BiosAttributes.v2`]: {
    Location: [
      { Language: 'zh', Uri: '/zh' },
      { Language: 'en-US', Uri: '/en' },
    ],
  },
  '/en': registry,
};
const client = (own: Record<string, object> = bodies) => ({
  get: async (path: string): Promise<Answer> => {
    if (own[path]) return { body: own[path] } as unknown as Answer;
    throw new BmcError('BmcRefused', 'not found', { repeat: 'never', details: { status: 404 } });
  },
});

it('reads the registry that the BIOS names, in English, whatever version its path has', async () => {
  const found = await readBiosDetails(client(), { AttributeRegistry: 'BiosAttributes.v2_1_0' });
  expect(Object.keys(found)).toEqual(['Boot', 'Cores']);
  expect(found['Boot']).toMatchObject({
    attribute_type: 'Enumeration',
    allowable_values: ['Uefi', 'Bios'],
    read_only: false,
  });
  expect(found['Cores']).toMatchObject({
    lower_bound: 0,
    upper_bound: 64,
    allowable_values: null,
    reset_required: true,
  });
});

it('knows nothing without a registry, with one that is refused, and with one at another computer', async () => {
  expect(await readBiosDetails(client(), {})).toEqual({});
  expect(await readBiosDetails(client(), { AttributeRegistry: 'Other.v1' })).toEqual({});
  const away = { ...bodies, [`${base}/BiosAttributes.v2`]: { Location: [{ Language: 'en', Uri: 'http://away/en' }] } };
  expect(await readBiosDetails(client(away), { AttributeRegistry: 'BiosAttributes.v2' })).toEqual({});
});
