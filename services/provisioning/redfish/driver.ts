/** The driver of machines whose BMC speaks Redfish. */
import type { BmcAccess, BmcDriver } from '../bmc/port.ts';
import { followEvents } from './events.ts';
import { RedfishHttp, type HttpOptions } from './conversation/http.ts';
import type { InsertedImages } from './media/drives.ts';
import { RedfishMachine } from './machine.ts';
import type { Access } from './conversation/transport.ts';
import type { Trust } from '../documents/trust.ts';

export interface RedfishDriverOptions {
  /** The default for nodes without `verify_ca`. */
  readonly trust: Trust;
  /** Placeholder values that identify no machine, in lower case. */
  readonly placeholders: ReadonlySet<string>;
  readonly http?: HttpOptions | undefined;
}

export function createRedfishDriver({ trust, placeholders, http: options }: RedfishDriverOptions): BmcDriver {
  const http = new RedfishHttp(options);
  const inserted = new Map<string, InsertedImages>();
  const insertedAt = (address: string): InsertedImages => {
    const found = inserted.get(address) ?? new Map();
    inserted.set(address, found);
    return found;
  };
  const accessTo = ({ node, password }: BmcAccess): Access => ({
    node: node.name,
    address: node.address,
    username: node.username,
    password,
    trust: node.verify_ca ?? trust,
  });
  return {
    machine: ({ signal, path, tries, ...access }) =>
      new RedfishMachine(http, {
        access: accessTo(access),
        systemId: access.node.system_id,
        signal,
        path,
        expected: access.node.identity,
        placeholders,
        inserted: insertedAt(access.node.address),
        ...(tries !== undefined && { tries }),
      }),
    followEvents: (access, listener) => followEvents(http, accessTo(access), listener),
    close: () => http.close(),
  };
}
