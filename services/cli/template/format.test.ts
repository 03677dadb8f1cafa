import { describe, expect, it } from 'vitest';
import { formatText } from './format.ts';

const text = `heat_template_version: 2013-05-23   # the first
parameters:
    mode: {type: string,   default: 0644}
    time: { type: string, default: "12:30:45" }
    truth: {type: boolean, default: yes}
`;

describe('template format', () => {
  it('keeps comments, quotes and every word as it was written', () => {
    const formatted = formatText(text);
    expect(formatted).toContain('# the first');
    expect(formatted).toContain('default: 0644');
    expect(formatted).toContain('default: "12:30:45"');
    expect(formatted).toContain('default: yes');
  });

  it('changes nothing that is formatted', () => {
    expect(formatText(formatText(text))).toBe(formatText(text));
  });

  it('refuses what is not YAML', () => {
    expect(() => formatText('a: [')).toThrow('not YAML');
  });
});
