/** What is wrong with an expression, or with the values it met. `offset` is the character of the expression, where known. */
export class YaqlFault extends Error {
  readonly offset: number | undefined;

  constructor(message: string, offset?: number) {
    super(message);
    this.offset = offset;
  }
}

export function fault(message: string, offset?: number): never {
  throw new YaqlFault(message, offset);
}
