/** Actions on a resource of a stack: signals, hooks and marks. */
import { resourceAct, stackSignal, type ResourceAct } from '@anneal/contracts/calls/resources.ts';
import type { Result } from '@anneal/provider/document.ts';
import {
  occasionOfCall,
  optionalText,
  resultOf,
  textIn,
  type ActionCall,
  type ActionParts,
  type RunAction,
} from './ask.ts';

const about = (call: ActionCall) => ({
  project: call.project,
  stack: textIn(call, 'stack'),
  resource: textIn(call, 'resource'),
  occasion: occasionOfCall(call),
});

const act = (parts: ActionParts, call: ActionCall, action: ResourceAct): Promise<Result> =>
  resultOf(parts, call, {
    service: 'scheduling',
    definition: resourceAct,
    data: { ...about(call), action },
    show: () => null,
  });

/** The actions on resources, by name. */
export const resourceTaskActions: Readonly<Record<string, RunAction>> = {
  'anneal.signal': (parts, call) =>
    resultOf(parts, call, {
      service: 'scheduling',
      definition: stackSignal,
      data: { ...about(call), signal: call.input['signal'] ?? {} },
      show: () => null,
    }),
  'anneal.hook_clear': (parts, call) => act(parts, call, { kind: 'clear hook', hook: textIn(call, 'hook') }),
  'anneal.hook_complete': (parts, call) =>
    act(parts, call, {
      kind: 'complete hook',
      hook: textIn(call, 'hook'),
      token: textIn(call, 'token'),
      result: call.input['result'] === 'abandon' ? 'abandon' : 'continue',
    }),
  'anneal.hook_heartbeat': (parts, call) =>
    act(parts, call, { kind: 'heartbeat', hook: textIn(call, 'hook'), token: textIn(call, 'token') }),
  'anneal.mark_unhealthy': (parts, call) =>
    act(parts, call, { kind: 'mark', unhealthy: true, reason: optionalText(call, 'reason') ?? '' }),
};
