/** Inspection rules over Ironic's API: what changes on a node after its inspection. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';
import { inspectionRuleSchema, type InspectionRuleRepresentation } from './representation.ts';

/** The inspection rules. Only operators may use them. */
export interface InspectionRuleCalls {
  /** @throws AnnealError InvalidRequest that names each mistake in the rule. */
  create(parameters: { rule: JsonObject }): Promise<InspectionRuleRepresentation>;
  /** In the order in which they run, without conditions and actions. */
  list(parameters?: { signal?: AbortSignal | undefined }): Promise<InspectionRuleRepresentation[]>;
  /** @throws AnnealError NotFound */
  show(parameters: { rule: string }): Promise<InspectionRuleRepresentation>;
  /** @throws AnnealError NotFound */
  remove(parameters: { rule: string }): Promise<void>;
}

const service = 'baremetal';
// The rules exist since this microversion.
const headers = { 'x-openstack-ironic-api-version': '1.96', 'openstack-api-version': 'baremetal 1.96' };
const path = '/v1/inspection_rules';
const pathOf = (rule: string): string => `${path}/${encodeURIComponent(rule)}`;

/** The calls for inspection rules. Each throws the gateway's AnnealError. */
export function inspectionRulesOf(connection: GatewayConnection): InspectionRuleCalls {
  return {
    async create({ rule }) {
      const what = 'create the inspection rule';
      const body = await connection.json({ service, method: 'POST', path, headers, body: rule, what });
      return read(inspectionRuleSchema, body, what);
    },
    async list({ signal } = {}) {
      const what = 'list the inspection rules';
      const body = await connection.json({ service, path, headers, what, signal });
      return readList({ inspection_rules: inspectionRuleSchema }, body, what);
    },
    async show({ rule }) {
      const what = `show the inspection rule ${rule}`;
      const body = await connection.json({ service, path: pathOf(rule), headers, what });
      return read(inspectionRuleSchema, body, what);
    },
    async remove({ rule }) {
      const what = `delete the inspection rule ${rule}`;
      await connection.call({ service, method: 'DELETE', path: pathOf(rule), headers, what });
    },
  };
}
