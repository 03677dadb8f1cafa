/** The inputs of a run: what happens to it, with the facts that a decision needs. */
import type { HostProgress, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Draft } from '@anneal/store/port.ts';
import type { ConfigurationResource, DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';

/** The document of a deployment with its latest run. */
export type RunDocument = Draft<ConfigurationResource> & { readonly deployment: DeploymentState };

/** The host that sent a message. */
export type SendingHost = Pick<HostDocument, 'id' | 'name' | 'project'>;

/** The deployment that another one waited for, as it ended. */
export type EndedBefore = Pick<ConfigurationResource, 'id' | 'fence' | 'name' | 'status' | 'response' | 'deployment'>;

/** Where a run is when its limit is looked at. */
export interface RunPlace {
  readonly host: HostDocument | undefined;
  /** Its request in the queue of its host. */
  readonly message: MessageDocument | undefined;
  /** False when other requests are ahead of it. */
  readonly isFirst: boolean;
}

/** An input, by its kind. */
type KindOfInput =
  /** Its document was recorded, or its request may be missing in the queue: after a start, and when it was lost. */
  | { readonly kind: 'put' }
  /** A deployment that it waits for has completed. */
  | { readonly kind: 'released'; readonly by: EndedBefore }
  /** A deployment that comes before it failed or was skipped. */
  | { readonly kind: 'blocked'; readonly by: EndedBefore }
  /** Its host took the request a while ago, and has reported nothing since. */
  | { readonly kind: 'taken' }
  /** A collector (os-collect-config) received the request. */
  | { readonly kind: 'collected' }
  /** A host reported progress. */
  | { readonly kind: 'started'; readonly host: SendingHost; readonly progress: HostProgress }
  /** A host reported that it reboots for the config, or that it is back. */
  | { readonly kind: 'rebooting'; readonly host: SendingHost; readonly progress: HostProgress }
  /** The BMC of its host was asked to reset it, because the host was not back from a reboot in time. */
  | { readonly kind: 'reset' }
  /** A host answered: the script ended, or the host stopped it. */
  | { readonly kind: 'answered'; readonly host: SendingHost; readonly response: HostResponse }
  /** A host sent an answer in no accepted form. */
  | { readonly kind: 'refused'; readonly host: Pick<HostDocument, 'id'>; readonly failure: Failure }
  /** Its collector, which works on one thing at a time, asked again. */
  | { readonly kind: 'asked again' }
  /** Its host claims, and may hold the request from an earlier claim. */
  | { readonly kind: 'claimed again' }
  /** A client reported the result instead of the host. */
  | {
      readonly kind: 'reported';
      readonly status: 'COMPLETE' | 'FAILED';
      readonly reason: string | undefined;
      readonly change: Partial<DeploymentState>;
    }
  /** A timer fired: perhaps its limit is over. */
  | {
      readonly kind: 'due';
      readonly place: RunPlace;
      /** The end of the limit that applies now, in milliseconds. */
      readonly dueAt: number;
      readonly isOver: boolean;
    }
  /** The engine cancelled the request with this fence: `cancel.ts`. */
  | {
      readonly kind: 'cancelled';
      readonly fence: number;
      /** True when a deployment that comes before it has not completed. */
      readonly comesLater: boolean;
      /** True while a claim of the host holds the request. */
      readonly isHeld: boolean;
    }
  /** Its stack no longer waits for it, after a cancel or a newer action: it is wanted only if it has begun. */
  | {
      readonly kind: 'withdrawn';
      readonly fence: number;
      /** As for `cancelled`. */
      readonly comesLater: boolean;
      /** True when the host has taken the request, now or before. */
      readonly isHeld: boolean;
    }
  /** A deployment of the same name in the same stack replaces its deployment. */
  | { readonly kind: 'replaced' }
  /** A newer request for the deployment was answered, and began no run. */
  | { readonly kind: 'overtaken' }
  /** Its context needs it no more. */
  | { readonly kind: 'unneeded' }
  /** Its host is being deleted. No answer will come. */
  | { readonly kind: 'host deleted'; readonly host: Pick<HostDocument, 'id' | 'name'> };

/** An input to a run. */
export type RunInput = KindOfInput & {
  /** When the host took the request, if this is known and not recorded. */
  readonly accepted_at?: string | undefined;
};

/** The name of an input. */
export type RunInputKind = KindOfInput['kind'];

/** The inputs of one kind. */
export type RunInputOf<K extends RunInputKind> = Extract<RunInput, { kind: K }>;
