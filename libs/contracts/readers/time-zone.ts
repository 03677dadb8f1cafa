/** Names of time zones. Pure. */

/** The longest name of the database of zones has 32 characters. */
const longest = 64;

/** Whether a text is the name of a zone, such as Europe/Berlin. An offset is none, because it knows no changes of clocks. */
export function isTimeZone(text: string): boolean {
  if (text.length > longest || /^[-+]?\d/.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}
