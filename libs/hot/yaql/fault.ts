import { Reason } from '../evaluate/reason.ts';

/** A mistake in an expression, or in the values that it uses. `offset`: its character in the expression, if known. */
export class YaqlFault extends Error {
  readonly offset: number | undefined;

  readonly reason: Reason;

  constructor({ full, masked }: Reason, offset?: number) {
    const reason = new Reason(shortened(full), shortened(masked));
    super(reason.full);
    this.reason = reason;
    this.offset = offset;
  }
}

/** A message may quote a text of any length, so it is shortened. */
const longest = 1000;
const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/** Refuses an expression or a value. @throws YaqlFault with this reason */
export function fault(reason: Reason, offset?: number): never {
  throw new YaqlFault(reason, offset);
}
