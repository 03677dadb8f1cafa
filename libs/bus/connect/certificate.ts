/** True when a connection failed because the other end could not prove its identity. Waiting does not help then. */
export function isUnproved(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code: unknown = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && /CERT|SELF_SIGNED|UNABLE_TO_|TLS_CERT_ALTNAME/.test(code)) return true;
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return [error.cause, ...inner].some(isUnproved);
}
