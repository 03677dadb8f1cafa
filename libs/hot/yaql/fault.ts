/** What is wrong with an expression, or with the values it met. `offset` is the character of the expression, where known. */
export class YaqlFault extends Error {
  readonly offset: number | undefined;

  constructor(message: string, offset?: number) {
    super(message.length > longest ? `${message.slice(0, longest)}…` : message);
    this.offset = offset;
  }
}

/** A message may quote a text of any length. */
const longest = 1000;

export function fault(message: string, offset?: number): never {
  throw new YaqlFault(message, offset);
}
