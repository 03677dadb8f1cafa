/** Checks the changes that a client requests before any is made. Pure: from a body to the change, or a refusal. */
import { isObject } from '@anneal/contracts/json.ts';
import { resetTypes, type ResetType } from '../machine.ts';
import {
  bootEnabled,
  bootModes,
  bootTargets,
  indicators,
  type BootOverride,
  type Indicator,
  type MachineState,
} from '../machine-state.ts';
import { RedfishError, wrongValue } from './errors.ts';
import { targetsOf } from './representation.ts';

type Body = Readonly<Record<string, unknown>>;

export function bodyOf(value: unknown): Body {
  if (isObject(value)) return value;
  throw new RedfishError('MalformedJSON', 'The request body must be a JSON object.');
}

export function resetTypeOf(body: Body): ResetType {
  // The standard leaves the default to the implementation. Pushing the power button would be the least expected.
  const type = body['ResetType'] ?? 'On';
  return oneOf(resetTypes, type, 'ResetType');
}

export interface SystemChange {
  readonly boot?: BootOverride;
  readonly assetTag?: string;
  readonly indicator?: Indicator;
}

export function systemChangeOf(body: Body, machine: MachineState): SystemChange {
  const known = new Set(['Boot', 'AssetTag', 'IndicatorLED']);
  const strange = Object.keys(body).filter((name) => !known.has(name) && !name.startsWith('@'));
  if (strange.length > 0) {
    throw new RedfishError('PropertyNotWritable', `The properties ${strange.join(', ')} are read only.`, {
      properties: strange,
    });
  }
  const { Boot: boot, AssetTag: tag } = body;
  const indicator = optional(indicators, body['IndicatorLED'], 'IndicatorLED');
  if (tag !== undefined && typeof tag !== 'string') throw wrongValue('AssetTag', tag, 'texts');
  return {
    ...(boot !== undefined && { boot: bootChangeOf(bodyOf(boot), machine) }),
    ...(typeof tag === 'string' && { assetTag: tag }),
    ...(indicator !== undefined && { indicator }),
  };
}

function bootChangeOf(body: Body, machine: MachineState): BootOverride {
  const current = machine.boot;
  const targets = bootTargets.filter((target) => targetsOf(machine).includes(target));
  const target = optional(targets, body['BootSourceOverrideTarget'], 'Boot/BootSourceOverrideTarget') ?? current.target;
  const mode = optional(bootModes, body['BootSourceOverrideMode'], 'Boot/BootSourceOverrideMode') ?? current.mode;
  const enabled =
    optional(bootEnabled, body['BootSourceOverrideEnabled'], 'Boot/BootSourceOverrideEnabled') ?? current.enabled;
  const uri = body['HttpBootUri'] === undefined ? current.httpBootUri : body['HttpBootUri'];
  if (uri !== null && (typeof uri !== 'string' || !isWeb(uri)))
    throw wrongValue('Boot/HttpBootUri', uri, 'http and https addresses');
  if (target === 'UefiHttp' && mode === 'Legacy')
    throw wrongValue('Boot/BootSourceOverrideMode', mode, 'UEFI, for UefiHttp');
  // A target of None disables the override, whatever the other fields contain.
  return { target, mode, enabled: target === 'None' ? 'Disabled' : enabled, httpBootUri: uri };
}

/** @throws RedfishError when a machine cannot load from the address. */
export function imageOf(body: Body): string {
  const { Image: image } = body;
  if (image === undefined) {
    throw new RedfishError('ActionParameterMissing', 'The action InsertMedia requires the parameter Image.', {
      properties: ['Image'],
    });
  }
  if (typeof image !== 'string' || !isWeb(image)) throw wrongValue('Image', image, 'http and https addresses');
  return image;
}

function isWeb(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown, property: string): T {
  const found = allowed.find((entry) => entry === value);
  if (found === undefined) throw wrongValue(property, value, allowed.join(', '));
  return found;
}

const optional = <T extends string>(allowed: readonly T[], value: unknown, property: string): T | undefined =>
  value === undefined || value === null ? undefined : oneOf(allowed, value, property);
