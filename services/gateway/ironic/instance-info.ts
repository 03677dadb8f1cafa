/**
 * The secrets in `instance_info`, by the names of their keys, as Ironic hides them. Anneal uses none of them, so it keeps
 * none: not in messages and not in the store. Pure.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';

const secretName =
  /password|passphrase|pswd|admin_?pass|secret|token|private_?key|ssl_?key|encrypted_key|fernet_?key|configdrive|image_url/i;

/** The value with each secret hidden, at any depth. */
export function maskSecrets(value: Json): Json {
  if (Array.isArray(value)) return value.map(maskSecrets);
  if (!isObject(value)) return value;
  return toRecord(
    Object.entries(value).map(([name, each]) => [name, secretName.test(name) ? redaction : maskSecrets(each)]),
  );
}

/** The patch with the secrets for `instance_info` hidden. */
export const withoutInstanceSecrets = (patch: NodePatch): NodePatch =>
  patch.map((operation) => {
    const { path, value } = operation;
    if (value === undefined || !/^\/instance_info(?:\/|$)/.test(path)) return operation;
    return { ...operation, value: secretName.test(path) ? redaction : maskSecrets(value) };
  });
