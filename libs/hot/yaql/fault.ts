/** A mistake in an expression, or in the values that it uses. `offset`: its character in the expression, if known. */
export class YaqlFault extends Error {
  readonly offset: number | undefined;

  constructor(message: string, offset?: number) {
    super(message.length > longest ? `${message.slice(0, longest)}…` : message);
    this.offset = offset;
  }
}

/** A message may quote a text of any length, so it is shortened. */
const longest = 1000;

/** Refuses an expression or a value. @throws YaqlFault with this message */
export function fault(message: string, offset?: number): never {
  throw new YaqlFault(message, offset);
}
