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

it('an address that no interface can have is refused in a port of a node, and a usual one is not', () => {
  const port = (address: string): unknown =>
    mistakesOf(
      `heat_template_version: wallaby\nresources:\n  p: {type: OS::Ironic::Port, properties: {node: n, address: "${address}"}}`,
      { types: announced, parameters: {} },
    ).map(({ message }) => message);
  expect(port('52-54-00-AA-00-02')).toEqual([]);
  expect(port('21:00:f4:e9:d4:5b:11:22')).toEqual([expect.stringContaining('8 octets')]);
  expect(port('00:00:00:00:00:00')).toEqual([expect.stringContaining('is not a valid address')]);
});

describe('the name of a server', () => {
  const named = (type: string, name: string): unknown =>
    mistakesOf(
      `heat_template_version: wallaby
parameters: {p: {type: string, default: a b}, hidden: {type: string, default: a b, hidden: true}}
resources:
  s: {type: ${type}, properties: {${type === 'OS::Nova::Server' ? 'flavor: baremetal, ' : ''}name: ${name}}}
`,
      { types: announced, parameters: {} },
    ).map(({ path, message, found }) => ({ path, message, found }));

  it('is refused in a deployed server when it is no host name, with its path, its value and the rule', () => {
    const refused = {
      path: 'resources.s.properties.name',
      message: expect.stringMatching(/"a b" is not a valid name: a host name consists of parts of 1 to 63 letters/),
      found: 'a b',
    };
    expect(named('OS::Heat::DeployedServer', 'a b')).toEqual([refused]);
    expect(named('OS::Heat::DeployedServer', '{get_param: p}')).toEqual([refused]);
    expect(JSON.stringify(named('OS::Heat::DeployedServer', '{get_param: hidden}'))).toMatch(/a host name consists/);
    expect(JSON.stringify(named('OS::Heat::DeployedServer', '{get_param: hidden}'))).not.toContain('a b');
    expect(named('OS::Heat::DeployedServer', 'a'.repeat(64))).toHaveLength(1);
  });

  it.each(['web1.example.org', 'Web1', 'web_1', "''"])('may be %s in a deployed server', (name) => {
    expect(named('OS::Heat::DeployedServer', name)).toEqual([]);
  });

  it('is free in a Nova server, up to 255 characters', () => {
    expect(named('OS::Nova::Server', 'Front End (漢字)')).toEqual([]);
    expect(named('OS::Nova::Server', 'a'.repeat(255))).toEqual([]);
    expect(named('OS::Nova::Server', 'a'.repeat(256))).toMatchObject([
      { path: 'resources.s.properties.name', message: expect.stringContaining('at most 255 characters') },
    ]);
  });
});
