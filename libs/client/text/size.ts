/** Sizes for people. */

/** Bytes as `12 MiB` or `3.4 GiB`, rounded up below one GiB. */
export const formatSize = (bytes: number): string =>
  bytes < 2 ** 30 ? `${Math.ceil(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
