/** The registry of a BIOS: types, limits and allowed values of its settings, in the terms of Ironic. */
import type { BiosDetails } from '@anneal/contracts/calls/node-hardware.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { linkIn } from './conversation/links.ts';
import { bodyIfHere, bodyIfShown, numberValue, textValue, type DocumentReader } from './reading.ts';

type Body = Readonly<Record<string, unknown>>;

/** The details of the settings by name. Empty where the BMC shows no registry. */
export async function readBiosDetails(
  client: DocumentReader,
  bios: Body,
): Promise<Readonly<Record<string, BiosDetails>>> {
  const id = textValue(bios['AttributeRegistry']);
  if (id === null) return {};
  const root = await bodyIfShown(client, '/redfish/v1/');
  const registries = linkIn(root, 'Registries');
  const listed = registries === undefined ? undefined : await bodyIfShown(client, registries);
  const members = Array.isArray(listed?.['Members']) ? (listed['Members'] as unknown[]) : [];
  const file = registryFile(members, id);
  const locations = file === undefined ? undefined : (await bodyIfShown(client, file))?.['Location'];
  const place = uriIn(Array.isArray(locations) ? locations.filter(isObject) : []);
  // A registry that is published elsewhere is not read.
  return place === undefined ? {} : biosDetailsIn((await bodyIfHere(client, place)) ?? {});
}

/** The path of the file of a registry. Some firmware leaves its version out of the path. Pure. */
function registryFile(members: readonly unknown[], id: string): string | undefined {
  const paths = members.flatMap((member) => linkIn(member) ?? []);
  const last = (path: string): string => path.replace(/\/$/, '').split('/').at(-1) ?? '';
  const [name = ''] = id.split('.');
  return paths.find((path) => last(path) === id) ?? paths.find((path) => last(path).split('.')[0] === name);
}

/** English where there is a choice. */
function uriIn(locations: readonly Body[]): string | undefined {
  const isEnglish = ({ Language: language }: Body): boolean => /^en/i.test(textValue(language) ?? '');
  return textValue((locations.find(isEnglish) ?? locations[0])?.['Uri']) ?? undefined;
}

/** The details in a registry. Pure. */
export function biosDetailsIn({ RegistryEntries: entries }: Body): Readonly<Record<string, BiosDetails>> {
  const attributes = isObject(entries) && Array.isArray(entries['Attributes']) ? entries['Attributes'] : [];
  return Object.fromEntries(
    attributes.filter(isObject).flatMap((each): [string, BiosDetails][] => {
      const name = textValue(each['AttributeName']);
      if (name === null) return [];
      const values = Array.isArray(each['Value']) ? each['Value'].filter(isObject) : [];
      const details = {
        attribute_type: textValue(each['Type']),
        allowable_values: values.length > 0 ? values.flatMap((value) => textValue(value['ValueName']) ?? []) : null,
        lower_bound: numberValue(each['LowerBound']),
        upper_bound: numberValue(each['UpperBound']),
        min_length: numberValue(each['MinLength']),
        max_length: numberValue(each['MaxLength']),
        read_only: flag(each['ReadOnly']),
        reset_required: flag(each['ResetRequired']),
        unique: flag(each['IsSystemUniqueProperty']),
      };
      return [[name, details]];
    }),
  );
}

const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);
