/** Configs whose text is generated from their properties. */
import { storedProperty, type Json, type SealableObject } from '@anneal/contracts/json.ts';
import { items, readConfig, type StoredConfig } from '../configs/derive.ts';
import { isSecret } from '@anneal/runtime/secrets/open.ts';
import { multipartMime, type MimePart } from '@anneal/python/text/mime.ts';
import type { NewRunContext } from './requests/new-run.ts';

type Context = Pick<NewRunContext, 'collections' | 'service'>;

/** The property that the text of a type is generated from. */
const sourceOf: Readonly<Record<string, string>> = {
  'OS::Heat::CloudConfig': 'cloud_config',
  'OS::Heat::MultipartMime': 'parts',
};

/** Generates a config. A text that contains a secret is sealed as a whole. */
export async function configOf(
  { collections, service: { secrets } }: Context,
  type: string,
  properties: SealableObject,
): Promise<StoredConfig> {
  const config = readConfig(secrets, type, properties);
  const source = sourceOf[type];
  if (source === undefined) return config;
  const written = storedProperty(properties, source);
  let hidden = isSecret(secrets, written);
  if (type === 'OS::Heat::CloudConfig') return hidden ? { ...config, config: secrets.seal(config.config) } : config;
  const parts: MimePart[] = [];
  for (const part of items(secrets.open<Json>(written ?? null))) {
    const given = typeof part.config === 'string' ? part.config : '';
    const stored = (await collections.resources.get(given))?.config?.config ?? given;
    const content = secrets.open<Json>(stored);
    hidden ||= content !== stored;
    parts.push({
      content: typeof content === 'string' ? content : JSON.stringify(content),
      filename: typeof part.filename === 'string' ? part.filename : null,
      subtype: typeof part.subtype === 'string' ? part.subtype : null,
      unpack: part.type === 'multipart',
    });
  }
  const text = multipartMime(parts);
  return { ...config, config: hidden ? secrets.seal(text) : text };
}
