/** The refusal of one request by a controller, with the answer, so that the caller can send another request. */
import { redactText } from '@anneal/runtime/secrets/redact.ts';
import { BmcError, type Repeat } from '../../bmc/bmc-error.ts';
import { reasonIn } from './messages.ts';
import type { Access, Method, RedfishAnswer } from './transport.ts';

export class RedfishRefusal extends BmcError {
  readonly answer: RedfishAnswer;
  readonly reason: string;

  constructor(access: Access, { method, url }: { method: Method; url: URL }, answer: RedfishAnswer) {
    const { status, retryAfterMs } = answer;
    // A BMC may quote the request in its answer.
    const reason = redactText(reasonIn(answer.body), [access.password ?? '']);
    const isLogin = status === 401 || status === 403;
    super(
      isLogin ? 'BmcMisconfigured' : 'BmcRefused',
      `The BMC refused the ${isLogin ? 'credentials' : 'request'}: node ${access.node}: ${method} ${url.href} answered ${status}: ${reason}`,
      {
        repeat: isLogin ? 'never' : repeatOf(status),
        retryAfterMs,
        details: { node: access.node, url: url.href, status, method },
      },
    );
    this.answer = answer;
    this.reason = reason;
  }
}

/** Requests answered 429 or 503 were not carried out. 501 and other refusals are final. */
function repeatOf(status: number): Repeat {
  if (status === 429 || status === 503) return 'always';
  return status >= 500 && status !== 501 ? 'idempotent' : 'never';
}
