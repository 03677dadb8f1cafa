/** The error of one exchange with a management controller. */
import { AnnealError, type ErrorCode } from '@anneal/contracts/errors.ts';

/** When a request may be retried. `idempotent`: only if it is idempotent, because it may have been carried out. */
export type Repeat = 'always' | 'idempotent' | 'never';

export class BmcError extends AnnealError {
  readonly repeat: Repeat;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: Extract<ErrorCode, 'BmcUnreachable' | 'BmcRefused' | 'BmcMisconfigured'>,
    message: string,
    options: { repeat: Repeat; retryAfterMs?: number | undefined; cause?: unknown; details: Record<string, unknown> },
  ) {
    super(code, message, options);
    this.repeat = options.repeat;
    this.retryAfterMs = options.retryAfterMs;
  }
}
