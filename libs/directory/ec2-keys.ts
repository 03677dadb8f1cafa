/** EC2 keys among the credentials that users keep. Pure. */
import { createHash } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';

/** The parts of an EC2 key. */
export interface Ec2Key {
  readonly access: string;
  readonly secret: string;
}

/** The hash by which a key is found. It is the id of its credential. */
export const accessHash = (access: string): string => createHash('sha256').update(access).digest('hex');

/** @throws AnnealError InvalidRequest for a blob of type ec2 without both keys */
export function ec2KeyIn(blob: string): Ec2Key {
  const read = jsonIn(blob);
  const { access, secret } = isObject(read) ? read : {};
  if (typeof access === 'string' && access !== '' && typeof secret === 'string') return { access, secret };
  throw new AnnealError(
    'InvalidRequest',
    'Invalid blob in credential: it must be JSON with the texts access and secret.',
  );
}
