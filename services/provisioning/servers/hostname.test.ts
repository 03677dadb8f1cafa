import { describe, expect, it } from 'vitest';
import { hostnameOf } from './hostname.ts';

describe('hostname', () => {
  it.each([
    ['Front End', 'front-end'],
    ['café_1', 'cafe-1'],
    ['--a--', 'a'],
    ['', 'stack-serv1-abc'],
    ['漢字', 'stack-serv1-abc'],
    [`x${'-'.repeat(70)}end`, 'end'],
    ['a'.repeat(100), 'a'.repeat(63)],
  ])('makes %j the label %j', (name, label) => {
    expect(hostnameOf(name, 'stack-serv1-abc')).toBe(label);
  });
});
