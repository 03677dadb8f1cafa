/** UUIDs (RFC 9562). Pure. */

/** The source of a pattern for a UUID as Anneal writes it: in lower case, with dashes. */
export const uuidSource = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** The pattern of a UUID as Python reads it, so as OpenStack's clients write it: also in upper case, or without dashes. */
export const looseUuid = /^[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/;

const own = new RegExp(`^${uuidSource}$`);

/** Whether a text is a UUID as Anneal writes it. */
export const isUuid = (text: string): boolean => own.test(text);
