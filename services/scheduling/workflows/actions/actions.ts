/**
 * Provides the actions of workflows. Each is a request to the own provider, so it is recorded before it runs, runs again when
 * the process dies, and is answered once. The id of an action is the id of the calls that it makes: the called service
 * recognizes a repeat.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import { workflowActionType } from '@anneal/contracts/calls/workflow.ts';
import { actionInputMistakes, workflowAction } from '@anneal/hot/workflow/action.ts';
import type { Result } from '@anneal/provider/document.ts';
import type { Decision } from '@anneal/provider/provide.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { WorkDocument } from '../../documents/work.ts';
import { refusedWith, type ActionCall, type ActionParts, type RunAction } from './ask.ts';
import { callHttp } from './http.ts';
import { nodeTaskActions } from './nodes.ts';
import { notificationTaskActions } from './notification.ts';
import { queueTaskActions } from './queues.ts';
import { resourceTaskActions } from './resources.ts';
import { stackTaskActions } from './stacks.ts';

/** The provider of actions. */
export interface WorkflowActions {
  serves(type: string): boolean;
  decide(action: ResourceAction): Decision<WorkDocument>;
  work(request: ResourceRequest & { readonly project: string }): Promise<Decision<WorkDocument>>;
}

/** The actions that this provider runs, by name. The engine, a client or a host runs the others. */
export const providedActions: Readonly<Record<string, RunAction>> = {
  'std.http': ({ network }, call) => callHttp(call, network),
  ...resourceTaskActions,
  ...stackTaskActions,
  ...queueTaskActions,
  ...nodeTaskActions,
  ...notificationTaskActions,
};

/** Makes the provider of actions. */
export function createActions(parts: ActionParts): WorkflowActions {
  const { secrets } = parts.context;
  return {
    serves: (type) => type === workflowActionType,
    decide: (action) => (action === 'create' ? { kind: 'waiting', ms: 0 } : { kind: 'complete' }),
    async work({ resource, properties, project, stack }) {
      const open = openProperties(secrets, properties);
      const action = typeof open['action'] === 'string' ? open['action'] : '';
      const input = isObject(open['input']) ? open['input'] : {};
      const call = { id: resource.id, project, input, task: resource.name, workflow: stack.name };
      const result = await runAction(parts, action, call);
      if (result.kind === 'failed') return result;
      // A seal that comes from outside can only be a copy, which must not open.
      return { ...result, attributes: secrets.fromOutside(result.attributes ?? {}) };
    },
  };
}

async function runAction(parts: ActionParts, action: string, call: ActionCall): Promise<Result> {
  const run = Object.hasOwn(providedActions, action) ? providedActions[action] : undefined;
  const definition = workflowAction(action);
  if (!run || !definition) {
    return { kind: 'failed', error: { code: 'NotSupported', message: `There is no action ${action}.` } };
  }
  // Values of expressions are known only now.
  const mistakes = actionInputMistakes({ ...definition, isEvaluated: true }, call.input);
  if (mistakes.length === 0) return run(parts, call);
  const message = `Cannot run ${action}: ${mistakes.map((each) => each.message).join('; ')}.`;
  return refusedWith(new AnnealError('InvalidRequest', message));
}
