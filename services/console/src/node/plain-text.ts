/** The text of a terminal without what moves the cursor and sets colours. Pure. */

// ESC with a parameter list and a letter, ESC with a title, and ESC with one letter.
// oxlint-disable-next-line no-control-regex
const sequences = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export const plainText = (line: string): string => line.replaceAll(sequences, '').replaceAll(controls, '');
