/** The result of an inspection of a machine, in the form of Ironic's inventory. */
import { isObject, type Json, type JsonObject } from './json.ts';
import { readMac } from './readers/mac.ts';

/** The interfaces among the properties of a node. */
export const nicsIn = ({ interfaces }: { interfaces?: Json | undefined }): JsonObject[] =>
  Array.isArray(interfaces) ? interfaces.filter(isObject) : [];

/**
 * The address by which an interface is a port of its node, in its one form. Undefined for an interface without a usable
 * address, and for one that an inspection marked because another node or another interface has its port.
 */
export function portAddressOf({ mac_address: mac, not_a_port: why }: JsonObject): string | undefined {
  return typeof mac === 'string' && typeof why !== 'string' ? readMac(mac) : undefined;
}

/** The inventory in the properties of a node. Pure. */
export function inventoryIn(properties: JsonObject): JsonObject {
  const { interfaces, cpus, cpu_arch, cpu_model, memory_mb, manufacturer, model, serial_number, disks } = properties;
  return {
    interfaces: nicsIn({ interfaces }),
    cpu: { count: cpus ?? null, architecture: cpu_arch ?? null, model_name: cpu_model ?? null },
    memory: { physical_mb: memory_mb ?? null },
    disks: disks ?? [],
    system_vendor: {
      manufacturer: manufacturer ?? null,
      product_name: model ?? null,
      serial_number: serial_number ?? null,
    },
  };
}
