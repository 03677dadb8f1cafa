/** Tells how far a host came with a run, so that a missing answer has a cause. Pure. */
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { DeploymentState, HostDocument } from '../../collections.ts';

type AnswerState = NonNullable<DeploymentView['answer_state']>;

export function answerStateOf(
  state: DeploymentState,
  { host, taken = false }: { host: HostDocument | undefined; taken?: boolean },
): AnswerState {
  if (!state.request || state.status === 'SKIPPED') return 'none';
  if (state.status_code !== null) return state.status_code === 0 ? 'answered' : 'failed';
  // The state at the time limit: a host that asks for work later has still not answered for this reason.
  if (state.no_answer) return state.no_answer;
  // An answer in no accepted form, or a longer one than a post may be, fails the run that it names.
  if (state.failure?.code === 'InvalidMessage' || state.failure?.code === 'TooLarge') return 'refused';
  if (state.started_at !== null || taken || state.collected === true) return 'started';
  if (!host || host.last_seen_at === null) return 'never polled';
  return host.last_seen_at < (state.queued_at ?? state.created_at) ? 'polled before' : 'not taken';
}
