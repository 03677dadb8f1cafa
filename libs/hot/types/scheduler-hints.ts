/**
 * The scheduler hints of a server that placement honours: `traits`, `capabilities` in TripleO's forms, `profile`,
 * `node` and `group`. Every other hint is a mistake, because a constraint that placement ignores must not look effective.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

/** The demands of a server on its node. */
export interface SchedulerHints {
  readonly traits: readonly string[];
  /** Capabilities by name, as in `properties.capabilities` of a node. */
  readonly capabilities: Readonly<Record<string, string>>;
  /** The name or id of a node, or its capability `node`. */
  readonly node: string | undefined;
  /** The id of a server group. */
  readonly group: string | undefined;
  readonly mistakes: readonly string[];
}

/** The hints that have an effect, for messages. */
export const supportedHints = 'traits, capabilities, capabilities:NAME, profile, node, group';

const prefix = 'capabilities:';
/** Nova's comparisons (`s== x`, `<in> x`) belong to flavors; as a value they would match no node. */
const operator = /^(?:<\w+>|s?[=!<>]=?|s==)\s/;

/** The demands, with every hint that has no effect or a wrong form among the mistakes. Never throws. */
export function readHints(hints: JsonObject): SchedulerHints {
  const traits: string[] = [];
  const capabilities: Record<string, string> = {};
  const mistakes: string[] = [];
  let node: string | undefined;
  let group: string | undefined;

  const scalar = (name: string, value: Json | undefined): string | undefined => {
    const text = scalarText(value).trim();
    if (text === '') mistakes.push(`${name} must be a non-empty string`);
    else if (operator.test(text)) mistakes.push(`${name} must be the value itself, without the comparison "${text}"`);
    else return text;
    return undefined;
  };
  const require = (hint: string, name: string, value: Json | undefined): void => {
    const wanted = scalar(hint, value);
    if (wanted === undefined) return;
    const known = capabilities[name];
    if (known !== undefined && known !== wanted)
      mistakes.push(`${hint} requires the capability ${name}:${wanted}, but another hint requires ${name}:${known}`);
    capabilities[name] = wanted;
  };

  for (const [hint, value] of Object.entries(hints)) {
    if (hint === 'traits') {
      for (const trait of Array.isArray(value) ? value : [value]) {
        if (typeof trait === 'string' && trait !== '') traits.push(trait);
        else mistakes.push('traits must be a list of names');
      }
    } else if (hint === 'capabilities') {
      const given = isObject(value) ? value : typeof value === 'string' ? capabilitiesInText(value) : undefined;
      if (!given) mistakes.push('capabilities must be a map or a string such as "profile:control,node:controller-0"');
      for (const [name, wanted] of Object.entries(given ?? {})) require(`capabilities.${name}`, name, wanted);
    } else if (hint.startsWith(prefix) && hint.length > prefix.length) {
      require(hint, hint.slice(prefix.length), value);
    } else if (hint === 'profile') {
      require(hint, 'profile', value);
    } else if (hint === 'node') {
      node = scalar(hint, value);
    } else if (hint === 'group') {
      group = scalar(hint, value);
    } else {
      mistakes.push(`the hint ${hint} is not supported`);
    }
  }
  return { traits, capabilities, node, group, mistakes };
}

/** Empty for any value other than text, number or boolean. */
export function scalarText(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/**
 * Parses Ironic's text form, e.g. `profile:control,boot_option:local`. Undefined when the text does not have that form.
 */
export function capabilitiesInText(text: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const part of text.split(',').map((each) => each.trim())) {
    if (part === '') continue;
    const [name = '', ...value] = part.split(':');
    if (name.trim() === '' || value.length === 0) return undefined;
    found[name.trim()] = value.join(':').trim();
  }
  return found;
}

/** Returns a message when the hints are invalid, or undefined. */
export function wrongHints(value: Json): string | undefined {
  const { mistakes } = isObject(value) ? readHints(value) : { mistakes: ['the hints must be a map'] };
  return mistakes.length === 0 ? undefined : `${mistakes.join('; ')}. The supported hints are ${supportedHints}.`;
}
