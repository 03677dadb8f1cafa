/** Limits of the sizes that documents may have. */

export interface SizeLimit {
  readonly bytes: number;
  /** The setting that an operator changes to allow more. */
  readonly setting: string;
}

export interface SizeLimits {
  readonly value: SizeLimit;
  readonly resource: SizeLimit;
  readonly stack: SizeLimit;
}
