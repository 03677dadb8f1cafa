/**
 * Names of host queues without dots. Zaqar's names have letters, digits, `_` and `-`, and its clients refuse a whole
 * list because of one name with a dot. This API lists host queues with dashes, and finds them under both names. Pure.
 */
import { uuidSource } from '@anneal/contracts/readers/uuid.ts';

const full = new RegExp(`^host\\.(${uuidSource})\\.(requests|responses)$`);
const alias = new RegExp(`^host-(${uuidSource})-(requests|responses)$`);

/** `host.<id>.requests` as `host-<id>-requests`; everything else as it is. */
export const aliasOf = (name: string): string => name.replace(full, 'host-$1-$2');
/** The inverse of `aliasOf`. */
export const queueNameOf = (listed: string): string => listed.replace(alias, 'host.$1.$2');
