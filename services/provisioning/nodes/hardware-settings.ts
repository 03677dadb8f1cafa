/**
 * The BIOS settings and the firmware versions of nodes as their BMCs last showed them, beside the nodes: a BIOS has hundreds
 * of settings, and nodes are read often.
 *
 * H1 A reading is best effort: no work of a node fails because its BMC does not show them.
 */
import type { HardwareSettings, nodeSettings } from '@anneal/contracts/calls/node-hardware.ts';
import { jsonBytes, type JsonObject } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, CollectionDefinition } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { Bmcs } from '../bmcs.ts';
import type { ShownSettings } from '../bmc/port.ts';
import type { NodeDocument } from '../documents/node.ts';

type SettingsDocument = HardwareSettings & { readonly id: string; readonly version: number };

const definition: CollectionDefinition = { name: 'provisioning_hardware', indexes: [] };
const mostBytes = 256 * 1024;
const readingMs = 15_000;

export class HardwareRecords {
  readonly #context: Pick<ServiceContext, 'log' | 'now'>;
  readonly #bmcs: Pick<Bmcs, 'with'>;
  readonly #collection: Collection<SettingsDocument>;

  private constructor(
    { context, bmcs }: { context: Pick<ServiceContext, 'log' | 'now'>; bmcs: Pick<Bmcs, 'with'> },
    collection: Collection<SettingsDocument>,
  ) {
    this.#context = context;
    this.#bmcs = bmcs;
    this.#collection = collection;
  }

  static async open(options: {
    context: Pick<ServiceContext, 'log' | 'now' | 'store'>;
    bmcs: Pick<Bmcs, 'with'>;
  }): Promise<HardwareRecords> {
    return new HardwareRecords(options, await options.context.store.collection<SettingsDocument>(definition));
  }

  /** H1. Reads them from the BMC. */
  async read(node: NodeDocument): Promise<void> {
    try {
      const shown = await this.#bmcs.with(node, (machine) => machine.settings(), { withinMs: readingMs, tries: 1 });
      const at = this.#context.now().toISOString();
      await changeOrInsert(this.#collection, node.id, (current) => ({
        id: node.id,
        ...settingsAfter(current, shown, at),
      }));
    } catch (error) {
      this.#context.log.info({ err: error, node: node.name }, 'BIOS settings and firmware not read; the old ones stay');
    }
  }

  async show(nodeId: string): Promise<z.output<(typeof nodeSettings)['answer']>> {
    const known = await this.#collection.get(nodeId);
    const { bios = {}, bios_details: details, firmware = [], created_at = null, read_at = null } = known ?? {};
    return { bios, ...(details && { bios_details: details }), firmware, created_at, read_at };
  }

  async forget(nodeId: string): Promise<void> {
    const known = await this.#collection.get(nodeId);
    if (known) await this.#collection.remove(nodeId, known.version);
  }
}

/** Pure. The first known version of a component stays, and so does the time of its last change. */
export function settingsAfter(
  before: Pick<HardwareSettings, 'firmware' | 'created_at'> | undefined,
  shown: ShownSettings,
  at: string,
): HardwareSettings {
  const firmware = Object.entries(shown.firmware).map(([component, version]) => {
    const known = before?.firmware.find((each) => each.component === component);
    const isNew = known !== undefined && known.current_version !== version;
    return {
      component,
      initial_version: known?.initial_version ?? version,
      current_version: version,
      last_version_flashed: isNew ? version : (known?.last_version_flashed ?? null),
      created_at: known?.created_at ?? at,
      updated_at: isNew ? at : (known?.updated_at ?? null),
    };
  });
  // Only of settings that are shown: registries have many more.
  const bios = bounded(shown.bios);
  const details = Object.entries(shown.biosDetails ?? {}).filter(([name]) => Object.hasOwn(bios, name));
  return {
    bios,
    ...(shown.biosDetails && {
      bios_details: bounded(Object.fromEntries(details)) as HardwareSettings['bios_details'],
    }),
    firmware,
    created_at: before?.created_at ?? at,
    read_at: at,
  };
}

/** As many settings as fit. */
function bounded(bios: JsonObject): JsonObject {
  let left = mostBytes;
  return Object.fromEntries(
    Object.entries(bios).filter(([name, value]) => (left -= name.length + jsonBytes(value, left + 1)) > 0),
  );
}
