/** Limits of the sizes that documents may have. */

/** A limit in bytes of JSON. */
export interface SizeLimit {
  readonly bytes: number;
  /** The setting that an operator changes to allow more. */
  readonly setting: string;
}

/** The limits of one value, of the values of a resource together, and of all resources of a stack together. */
export interface SizeLimits {
  readonly value: SizeLimit;
  readonly resource: SizeLimit;
  readonly stack: SizeLimit;
}
