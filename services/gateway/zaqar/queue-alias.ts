/**
 * Zaqar's names have letters, digits, `_` and `-`, and its clients refuse a whole list for the sake of one name with a dot.
 * The queues of hosts have dots, so in this API they are listed with dashes, and are found under either name. Pure.
 */
const id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const full = new RegExp(`^host\\.(${id})\\.(requests|responses)$`);
const alias = new RegExp(`^host-(${id})-(requests|responses)$`);

/** `host.<id>.requests` as `host-<id>-requests`; everything else as it is. */
export const aliasOf = (name: string): string => name.replace(full, 'host-$1-$2');
/** The opposite. */
export const nameOf = (listed: string): string => listed.replace(alias, 'host.$1.$2');
