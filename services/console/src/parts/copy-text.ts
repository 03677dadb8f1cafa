/** Copies a text. Browsers give no clipboard to a page over plain HTTP from another computer, only the old command. */
export async function copyText(text: string): Promise<void> {
  if ('clipboard' in navigator) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.style.position = 'fixed';
  document.body.append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- the only way without a clipboard
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser does not let this page copy: select the text instead.');
}
