/**
 * Names of host queues without dots. Zaqar's names have letters, digits, `_` and `-`, and its clients refuse a whole
 * list because of one name with a dot. This API lists host queues with dashes, and finds them under both names. Pure.
 */
const id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const full = new RegExp(`^host\\.(${id})\\.(requests|responses)$`);
const alias = new RegExp(`^host-(${id})-(requests|responses)$`);

/** `host.<id>.requests` as `host-<id>-requests`; everything else as it is. */
export const aliasOf = (name: string): string => name.replace(full, 'host-$1-$2');
/** The inverse of `aliasOf`. */
export const queueNameOf = (listed: string): string => listed.replace(alias, 'host.$1.$2');
