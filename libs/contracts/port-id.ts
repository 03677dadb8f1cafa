/** The id of a port: an interface of a node in Ironic's API and of `OS::Ironic::Port`. */
import { createHash } from 'node:crypto';
import { readMac } from './readers/mac.ts';

/** The same interface of the same node keeps its id. */
export function portId(node: string, mac: string): string {
  const hex = createHash('sha256')
    .update(`${node} ${readMac(mac) ?? mac.toLowerCase()}`)
    .digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
