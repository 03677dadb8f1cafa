/** Whether a URL has a user or password before its host. Such a URL is shown and logged, so it must not be stored. */
export function holdsCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}
