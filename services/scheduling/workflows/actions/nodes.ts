/** Actions on nodes. Nodes belong to the operators, so only executions of their project may change them. */
import { nodeMaintenance, nodePower, nodeProvision, nodeShow, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import type { z } from 'zod';
import { occasionOfCall, optionalText, refusedWith, resultOf, textIn, type RunAction } from './ask.ts';

const shown = ({ id, name, provision_state, power_state, target_power_state, maintenance }: NodeView): JsonObject => ({
  id,
  name,
  provision_state,
  power_state,
  target_power_state,
  maintenance,
});

/** Refuses an action of another project. */
const ofOperators =
  (run: RunAction): RunAction =>
  (parts, call) => {
    if (call.project === adminProject.id) return run(parts, call);
    const message = `Cannot run an action on node ${textIn(call, 'node')}: nodes belong to the operators, and this execution to project ${call.project}.`;
    return Promise.resolve(refusedWith(new AnnealError('Forbidden', message)));
  };

/** The actions on nodes, by name. */
export const nodeTaskActions: Readonly<Record<string, RunAction>> = {
  'anneal.node_show': ofOperators((parts, call) =>
    resultOf(parts, call, {
      service: 'provisioning',
      definition: nodeShow,
      data: { node: textIn(call, 'node') },
      show: shown,
    }),
  ),
  'anneal.node_power': ofOperators((parts, call) =>
    resultOf(parts, call, {
      service: 'provisioning',
      definition: nodePower,
      data: {
        node: textIn(call, 'node'),
        target: textIn(call, 'target') as z.infer<typeof nodePower.data>['target'],
        occasion: occasionOfCall(call),
      },
      show: shown,
    }),
  ),
  'anneal.node_maintenance': ofOperators((parts, call) => {
    const reason = optionalText(call, 'reason');
    return resultOf(parts, call, {
      service: 'provisioning',
      definition: nodeMaintenance,
      data: {
        node: textIn(call, 'node'),
        maintenance: call.input['maintenance'] === true,
        ...(reason !== undefined && { reason }),
      },
      show: shown,
    });
  }),
  'anneal.node_provision': ofOperators((parts, call) => {
    const runbook = optionalText(call, 'runbook');
    return resultOf(parts, call, {
      service: 'provisioning',
      definition: nodeProvision,
      data: {
        node: textIn(call, 'node'),
        target: textIn(call, 'target') as z.infer<typeof nodeProvision.data>['target'],
        ...(runbook !== undefined && { runbook }),
        occasion: occasionOfCall(call),
      },
      show: shown,
    });
  }),
};
