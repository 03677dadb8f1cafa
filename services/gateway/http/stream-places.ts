/** Places for open streams, of both kinds: server-sent events and WebSockets. */
import { AnnealError } from '@anneal/contracts/errors.ts';

export interface StreamPlaces {
  /** Returns the call that frees the place. @throws AnnealError LimitReached when all are taken */
  take(): () => void;
}

export function createStreamPlaces(most: number): StreamPlaces {
  let open = 0;
  return {
    take() {
      if (open >= most) {
        throw new AnnealError(
          'LimitReached',
          `Cannot open the event stream: ${open} streams are open, which is the limit (ANNEAL_GATEWAY_MAX_STREAMS). Close some, or try again later.`,
        );
      }
      open += 1;
      return () => {
        open -= 1;
      };
    },
  };
}
