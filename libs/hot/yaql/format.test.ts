import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { valueOf } from '../testing/types-and-compile.ts';

const run = (expression: string, data: Json = {}): unknown => valueOf(JSON.stringify({ yaql: { expression, data } }));

describe('format', () => {
  // Answers of Python.
  it.each([
    ['"{0}".format(24)', '24'],
    ['"{}".format(null)', 'None'],
    ['"{} and {}".format(a, true)', 'a and True'],
    ['"{1}{0}{1}".format(a, b)', 'bab'],
    ['"{host}:{port}".format(host => h, port => 80)', 'h:80'],
    ['"{{{0}}}".format(x)', '{x}'],
    ['"{0!r}".format(x)', "'x'"],
    ['"{0:>5}|{0:<5}|{0:^5}|{0:*^5}".format(ab)', '   ab|ab   | ab  |*ab**'],
    ['"{0:.1}".format(abc)', 'a'],
    ['"{0:05d}|{0:+d}|{0: d}|{1:05d}".format(42, -42)', '00042|+42| 42|-0042'],
    ['"{0:x}|{0:#X}|{0:#b}|{0:o}".format(255)', 'ff|0XFF|0b11111111|377'],
    ['"{0:,}|{0:_d}|{1:,.2f}".format(1234567, 1234567.891)', '1,234,567|1_234_567|1,234,567.89'],
    ['"{0:.2f}|{0:e}|{0:.0%}|{0:g}".format(0.25)', '0.25|2.500000e-01|25%|0.25'],
    ['"{0:g}|{1:g}|{2:.3g}".format(1000000.0, 0.00001, 1234.5)', '1e+06|1e-05|1.23e+03'],
    ['"{0}|{1}".format(1.0, [1, a])', "1.0|(1, 'a')"],
    ['"{0:{1}}".format(a, 3)', 'a  '],
    ['"{0:c}".format(65)', 'A'],
    ['format("{0} {a}", 1, a => 2)', '1 2'],
  ])('%s is %s', (expression, expected) => {
    expect(run(expression)).toBe(expected);
  });

  it.each([
    ['"{0.__class__}".format(a)', 'looks into its value'],
    ['"{0[a]}".format({a => 1})', 'looks into its value'],
    ['"{a.b}".format(a => 1)', 'looks into its value'],
    ['"{0:{1.x}}".format(a, b)', 'looks into its value'],
    ['"{1}".format(a)', 'no argument 1'],
    ['"{x}".format(a)', 'no argument "x"'],
    ['"{".format(a)', "Single '{'"],
    ['"}".format(a)', "Single '}'"],
    ['"{0:99999999}".format(a)', 'width'],
    ['"{0:.999f}".format(1.5)', 'precision'],
    ['"{0:d}".format(1.5)', 'integers'],
    ['"{0:d}".format(a)', 'not one of a text'],
    ['"{0:!!}".format(1)', 'Invalid format'],
  ])('%s is refused', (expression, problem) => {
    expect(() => run(expression)).toThrow(problem);
  });

  it('counts its output as work, so that nested widths end', () => {
    const long = '{0:9999}'.repeat(30);
    expect(() => run(`range(200).select("${long}".format($)).len()`)).toThrow(/too much/);
  });
});
