/** The description of a host in OpenStack's form, for config drives and the metadata service. Pure. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';

export interface DescribedHost {
  readonly host_id: string;
  readonly hostname: string;
  readonly project: string;
  readonly metadata: JsonObject;
  readonly availability_zone?: string;
}

/** `meta_data.json`. */
export const metaData = ({
  host_id,
  hostname,
  project,
  metadata,
  availability_zone = '',
}: DescribedHost): JsonObject => ({
  uuid: host_id,
  name: hostname,
  hostname,
  launch_index: 0,
  availability_zone,
  project_id: project,
  meta: metadata,
  ...(isObject(metadata['public_keys']) && { public_keys: metadata['public_keys'] }),
});

/** The public keys by name that the server's metadata gives. */
export const publicKeys = (metadata: JsonObject): [name: string, key: string][] =>
  Object.entries(isObject(metadata['public_keys']) ? metadata['public_keys'] : {}).flatMap(([name, key]) =>
    typeof key === 'string' ? [[name, key] as [string, string]] : [],
  );

/** The versions that Nova serves. */
export const openstackVersions = [
  '2012-08-10',
  '2013-04-04',
  '2013-10-17',
  '2015-10-15',
  '2016-06-30',
  '2016-10-06',
  '2017-02-22',
  '2018-08-27',
  '2020-10-14',
  'latest',
] as const;
