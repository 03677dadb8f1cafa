import { describe, expect, it } from 'vitest';
import { mistakesOf, types } from '../testing/types-and-compile.ts';
import { withImages } from './provisioning.ts';

const announced = withImages(types, ['debian-12', 'cirros']);
const refusals = (properties: string, parameters: Record<string, string> = {}): (string | undefined)[][] =>
  mistakesOf(
    `heat_template_version: wallaby
parameters: {p: {type: string, default: ''}}
resources:
  s: {type: OS::Nova::Server, properties: {flavor: baremetal, ${properties}}}
`,
    { types: announced, parameters },
  ).map(({ path, message, nearest }) => [path, message, nearest]);

describe('a server that cannot be placed as its template asks', () => {
  it.each(['different_host: [a]', 'same_host: a', 'rack: r1', 'anything: 1'])(
    'is refused at create for the hint {%s}, by its path, with the hints that are supported',
    (hint) => {
      const [[path, message] = []] = refusals(`scheduler_hints: {${hint}}`);
      expect(path).toBe('resources.s.properties.scheduler_hints');
      expect(message).toMatch(
        /is not supported. The supported hints are traits, capabilities, .*, profile, node, group/,
      );
    },
  );

  it('is refused for a hint or an image that a parameter names', () => {
    expect(refusals('scheduler_hints: {profile: {get_param: p}}')[0]?.[1]).toMatch(
      /profile must be a non-empty string/,
    );
    expect(refusals('image: {get_param: p}', { p: 'no-such-image' })[0]?.[1]).toMatch(
      /"no-such-image" is not an allowed value \["","debian-12","cirros"\]|"no-such-image" is not an allowed value/,
    );
    expect(refusals('reservation_id: r-1')[0]?.[1]).toMatch(/Reservations are not supported/);
  });

  it('is refused with the nearest image name', () => {
    expect(refusals('image: debian-21')[0]?.[2]).toBe('debian-12');
  });

  it('is accepted with hints that placement supports', () => {
    for (const properties of [
      'image: debian-12',
      'availability_zone: nova',
      'availability_zone: east',
      'scheduler_hints: {group: 5a0c7d2e-group}',
      'scheduler_hints: {"capabilities:node": controller-0, profile: control, traits: [CUSTOM_A]}',
      'scheduler_hints: {capabilities: {profile: control}, node: machine-1}',
      'scheduler_hints: {}',
    ])
      expect(refusals(properties)).toEqual([]);
  });
});

describe('a server group', () => {
  const mistakes = (properties: string): (string | undefined)[] =>
    mistakesOf(
      `heat_template_version: wallaby
resources:
  g: {type: OS::Nova::ServerGroup, properties: {${properties}}}
`,
      { types: announced },
    ).map(({ path }) => path);

  it('has one policy of Nova, and counts racks unless its rules name another domain', () => {
    expect(mistakes('policies: [soft-affinity], rules: {domain: power_domain}')).toEqual([]);
    expect(mistakes('rules: {max_server_per_host: 2}')).toEqual([]);
    expect(mistakes('')).toEqual([]);
    for (const wrong of [
      'policies: [affinity, anti-affinity]',
      'policies: []',
      'policies: [together]',
      'rules: {domain: row}',
      'rules: {max_server_per_host: 0}',
    ])
      expect(mistakes(wrong), wrong).toHaveLength(1);
  });
});
