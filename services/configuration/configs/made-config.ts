/** Configs whose text is generated from their properties. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { items, readConfig, type StoredConfig } from '../deployments/derive.ts';
import { multipartMime, type MimePart } from '@anneal/python/text/mime.ts';
import type { NewRunContext } from '../deployments/runs/new-run.ts';

type Context = Pick<NewRunContext, 'collections' | 'service'>;

/** Generates a config. A text that contains a secret is sealed as a whole. */
export async function configOf(
  { collections, service: { secrets } }: Context,
  type: string,
  properties: JsonObject,
): Promise<StoredConfig> {
  if (type !== 'OS::Heat::CloudConfig' && type !== 'OS::Heat::MultipartMime') return readConfig(type, properties);
  const open = secrets.open<Json>(properties) as JsonObject;
  let isSecret = open !== properties;
  const config = readConfig(type, open);
  if (type === 'OS::Heat::CloudConfig') return isSecret ? { ...config, config: secrets.seal(config.config) } : config;
  const parts: MimePart[] = [];
  for (const part of items(open.parts)) {
    const given = typeof part.config === 'string' ? part.config : '';
    const stored = (await collections.resources.get(given))?.config?.config ?? given;
    const content = secrets.open<Json>(stored);
    isSecret ||= content !== stored;
    parts.push({
      content: typeof content === 'string' ? content : JSON.stringify(content),
      filename: typeof part.filename === 'string' ? part.filename : null,
      subtype: typeof part.subtype === 'string' ? part.subtype : null,
      unpack: part.type === 'multipart',
    });
  }
  const text = multipartMime(parts);
  return { ...config, config: isSecret ? secrets.seal(text) : text };
}
