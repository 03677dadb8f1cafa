/** The lights and the console of a node without a machine. The BMC of a real machine serves its own. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { nodeLightsSchema, nodeLightsSet } from '@anneal/contracts/calls/node-hardware.ts';
import type { z } from 'zod';
import type { NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { fakeLightStates, fakeMachineOf, hasMachine } from './machine.ts';

type LightsView = z.output<typeof nodeLightsSchema>;

export class Lights {
  readonly #records: NodeRecords;

  constructor(records: NodeRecords) {
    this.#records = records;
  }

  async show(idOrName: string): Promise<LightsView> {
    return viewOf(await this.#find(idOrName));
  }

  /** @throws AnnealError InvalidRequest for an unknown light or state. */
  async set({ node, ...wanted }: z.output<typeof nodeLightsSet.data>): Promise<LightsView> {
    const { id } = await this.#find(node);
    const changed = await this.#records.change(id, (current) => {
      const before = fakeMachineOf(current);
      const { indicator } = wanted;
      if (indicator) {
        requireOneOf('indicator', indicator.name, Object.keys(before.indicators));
        requireOneOf('state', indicator.state.toLowerCase(), fakeLightStates);
      }
      const indicators = {
        ...before.indicators,
        ...(indicator && { [indicator.name]: indicator.state.toLowerCase() }),
      };
      return { fake: { ...before, indicators, console: wanted.console ?? before.console } };
    });
    if (changed) return viewOf(changed);
    throw missing(node);
  }

  async #find(idOrName: string): Promise<NodeDocument> {
    const node = await this.#records.find(idOrName);
    if (!node) throw missing(idOrName);
    if (!hasMachine(node)) return node;
    throw new AnnealError(
      'NotSupported',
      `The lights and the console of node ${node.name} (driver ${node.driver}) are not changed by a client, because the BMC serves its lights and its consoles (anneal node console ${node.name}).`,
    );
  }
}

const viewOf = (node: NodeDocument): LightsView => ({ indicators: { ...fakeMachineOf(node).indicators } });

const missing = (node: string): AnnealError => new AnnealError('NotFound', `There is no node with id or name ${node}.`);

function requireOneOf(what: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new AnnealError('InvalidRequest', `There is no ${what} ${value}; there are ${known.join(', ')}.`);
}
