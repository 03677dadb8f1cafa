/**
 * The states of a run, and what each input does in each state. Pure data; `decide.ts` asks it.
 *
 * `waiting`: the run is recorded, and waits for other deployments. Its request is in no queue. The completion of the last
 * of them leads to `queued`; everything else that leaves the state ends the run.
 *
 * `queued`: its request is in the queue of its host, perhaps behind the requests of deployments that must complete first
 * (`after`). The host takes it in its turn. When the host starts or ends it within a second, no `accepted` is recorded.
 *
 * `accepted`: its host took the request a while ago, and has reported nothing since.
 *
 * `running`: its host reported the start. Its host may reboot for the config meanwhile.
 *
 * `ended`: COMPLETE, FAILED or SKIPPED. Only a new request for the deployment begins another run, with an id of its own.
 * A deployment that has had no run yet is here too.
 *
 * A waiting, queued, accepted or running run is IN_PROGRESS. `time-limit.ts` has the limit of each phase.
 */
import type { HostReboot } from '@anneal/contracts/calls/host-messages.ts';
import { mostReboots, rebootOf } from '@anneal/contracts/reboot-option.ts';
import type { ConfigurationResource, RunReboot } from '../../collections.ts';
import { hasAcceptance } from './acceptance.ts';
import type { EndedBefore, RunDocument, RunInput, RunInputKind, RunInputOf } from './run-inputs.ts';
import { transportIn } from './signal-inputs.ts';

export const runStates = ['waiting', 'queued', 'accepted', 'running', 'ended'] as const;
/** The state of a run. */
export type RunState = (typeof runStates)[number];

/** The effects of inputs on runs. */
export const runEffects = {
  nothing: 'the input changes nothing',
  waits: 'the time limit of the run is watched',
  offers: 'the request is put into the queue of the host, unless it is there, and its time limit is watched',
  releases: 'the run waits for one deployment less; when that was the last one, its request is put into the queue',
  accepts: 'the time when the host took the request is recorded',
  starts: 'the start is recorded, and the time limit of the script begins',
  reboots:
    'the reboot of the host for the config, or its end, is recorded, and the time limit of the boot or of the script begins',
  notes: 'a fact is recorded, for later',
  ends: 'the run ends, and its request leaves the queue of the host',
  stops: 'the run ends; if the host has taken the request, it must stop the script, and the request stays until it has',
  repeats: 'the run had ended; what a crash may have left undone is completed',
} as const;
/** The effect of an input on a run. */
export type RunEffect = keyof typeof runEffects;

interface Exception<I> {
  readonly when: string;
  readonly holds: (run: RunDocument, input: I) => boolean;
  readonly effect: RunEffect;
}

interface Row<K extends RunInputKind> {
  readonly in: Readonly<Record<RunState, RunEffect>>;
  /** The first one that holds decides instead, where the input has an effect. */
  readonly except?: readonly Exception<RunInputOf<K>>[];
}

/** The same effect in every state, but for those named. */
const all = (effect: RunEffect, but: Partial<Row<'put'>['in']> = {}): Row<'put'>['in'] => ({
  waiting: effect,
  queued: effect,
  accepted: effect,
  running: effect,
  ended: effect,
  ...but,
});
const ends = all('ends', { ended: 'repeats' });
const stops = all('stops', { ended: 'repeats' });

/** True while a run of the deployment is in progress. */
export const isInProgress = ({ deployment, run_id }: Pick<ConfigurationResource, 'deployment' | 'run_id'>): boolean =>
  deployment?.status === 'IN_PROGRESS' && run_id !== null;

/** Whether the engine recalled the run while its host held the request behind another one. */
const isRecalled = ({ cancelled, fence, response }: RunDocument): boolean => cancelled === fence && response === null;

/** Whether a report about a reboot tells more than the record. */
function isNews(known: RunReboot | undefined, reported: HostReboot | undefined): boolean {
  if (!reported) return false;
  if (!known || reported.number > known.number) return true;
  return reported.number === known.number && reported.over === true && !known.over;
}

/** False for a run that waits for a newer request of this deployment. */
function waitsFor({ deployment }: RunDocument, { id, fence }: EndedBefore): boolean {
  const before = deployment.after?.find((each) => each.id === id);
  return before ? before.fence <= fence : deployment.waiting_for.includes(id);
}

const ofAnotherHost: Exception<RunInputOf<'started' | 'rebooting' | 'answered' | 'refused'>> = {
  when: 'another host sends it',
  holds: ({ deployment }, { host }) => deployment.host_id !== host.id,
  effect: 'nothing',
};

/** The effect of each input in each state, and the exceptions. */
export const runTransitions: { readonly [K in RunInputKind]: Row<K> } = {
  put: { in: all('offers', { waiting: 'waits', ended: 'nothing' }) },
  released: {
    in: all('nothing', { waiting: 'releases' }),
    except: [
      {
        when: 'the run does not wait for this deployment',
        holds: (run, { by }) => !waitsFor(run, by) || !run.deployment.waiting_for.includes(by.id),
        effect: 'nothing',
      },
    ],
  },
  blocked: {
    in: ends,
    except: [
      {
        when: 'the run does not come after this request of the deployment',
        holds: (run, { by }) => isInProgress(run) && !waitsFor(run, by),
        effect: 'nothing',
      },
    ],
  },
  taken: { in: all('nothing', { queued: 'accepts' }) },
  collected: {
    in: all('notes'),
    except: [{ when: 'that is recorded', holds: ({ deployment }) => deployment.collected === true, effect: 'nothing' }],
  },
  // A host that has not received the request cannot start it.
  started: {
    in: all('nothing', { queued: 'starts', accepted: 'starts' }),
    except: [
      ofAnotherHost,
      {
        when: 'it reports no start',
        holds: (_run, { progress }) => progress.progress !== 'started',
        effect: 'nothing',
      },
    ],
  },
  rebooting: {
    in: all('nothing', { queued: 'reboots', accepted: 'reboots', running: 'reboots' }),
    except: [
      ofAnotherHost,
      {
        when: 'that is recorded, or a later one',
        holds: ({ deployment: { reboot } }, { progress }) => !isNews(reboot, progress.reboot),
        effect: 'nothing',
      },
      // A report begins a limit of time again, so a host has as many as its config may have reboots.
      {
        when: 'its config may not have this reboot',
        holds: ({ deployment: { request } }, { progress: { reboot } }) =>
          rebootOf(request?.options ?? {}) === undefined || (reboot?.number ?? 0) > mostReboots,
        effect: 'nothing',
      },
    ],
  },
  reset: {
    in: all('nothing', { running: 'reboots' }),
    except: [
      {
        when: 'its host does not reboot, or was reset before',
        holds: ({ deployment: { reboot } }) => !reboot || reboot.over || reboot.reset_at !== undefined,
        effect: 'nothing',
      },
    ],
  },
  // A user may answer for a host, as in Heat: also while the run waits.
  answered: { in: ends, except: [ofAnotherHost] },
  refused: { in: ends, except: [ofAnotherHost] },
  'asked again': {
    in: ends,
    except: [
      {
        when: 'its collector has not received it, or sends an answer',
        holds: ({ deployment: { request, collected } }) =>
          collected !== true || !request || transportIn(request) !== 'NO_SIGNAL',
        effect: 'nothing',
      },
    ],
  },
  'claimed again': {
    in: all('ends', { ended: 'nothing' }),
    except: [{ when: 'the engine has not recalled it', holds: (run) => !isRecalled(run), effect: 'nothing' }],
  },
  reported: { in: ends },
  due: {
    in: ends,
    except: [
      {
        when: 'its limit is not over',
        holds: (run, { isOver }) => isInProgress(run) && !isOver,
        effect: 'waits',
      },
    ],
  },
  cancelled: {
    in: all('stops', { waiting: 'ends', ended: 'repeats' }),
    except: [
      { when: 'it is of another request', holds: ({ fence }, input) => fence !== input.fence, effect: 'nothing' },
      {
        when: 'its request was answered when it was queued',
        holds: (run) => isInProgress(run) && run.response !== null,
        effect: 'nothing',
      },
      {
        when: 'its host holds the request, behind others that have not ended',
        holds: (_run, { comesLater, isHeld }) => comesLater && isHeld,
        effect: 'notes',
      },
      { when: 'others come before it', holds: (_run, { comesLater }) => comesLater, effect: 'ends' },
    ],
  },
  withdrawn: {
    in: { waiting: 'ends', queued: 'stops', accepted: 'nothing', running: 'nothing', ended: 'repeats' },
    except: [
      { when: 'it is of another request', holds: ({ fence }, input) => fence !== input.fence, effect: 'nothing' },
      {
        when: 'its request was answered when it was queued',
        holds: (run) => isInProgress(run) && run.response !== null,
        effect: 'nothing',
      },
      {
        when: 'its host holds the request, behind others that have not ended',
        holds: (run, { comesLater, isHeld }) => isInProgress(run) && comesLater && isHeld,
        effect: 'notes',
      },
      {
        when: 'its host may have begun it',
        holds: (run, { isHeld }) => isInProgress(run) && isHeld,
        effect: 'nothing',
      },
    ],
  },
  replaced: { in: stops },
  overtaken: { in: ends },
  unneeded: { in: ends },
  'host deleted': { in: stops },
};

/** The state of the latest run of a deployment, from its document. */
export function stateOfRun(document: Pick<ConfigurationResource, 'deployment' | 'run_id'>): RunState {
  const { deployment } = document;
  if (!deployment || !isInProgress(document)) return 'ended';
  if (deployment.started_at !== null) return 'running';
  if (hasAcceptance(deployment)) return 'accepted';
  return deployment.waiting_for.length > 0 ? 'waiting' : 'queued';
}

/** The effect of an input on a run, by the table. */
export const effectOnRun = (run: RunDocument, input: RunInput): RunEffect =>
  // The kind of the input selects its row, which TypeScript cannot follow.
  effectIn(runTransitions[input.kind] as Row<RunInputKind>, run, input);

function effectIn(row: Row<RunInputKind>, run: RunDocument, input: RunInput): RunEffect {
  const effect = row.in[stateOfRun(run)];
  if (effect === 'nothing') return effect;
  return row.except?.find(({ holds }) => holds(run, input))?.effect ?? effect;
}
