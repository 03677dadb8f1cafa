import { describe, expect, it } from 'vitest';
import { bmcActionIn } from './conversation/action.ts';
import {
  powerIn,
  powerProblems,
  resetAction,
  resetFor,
  resetName,
  resetProblems,
  shownValue,
  strangenessOf,
} from './system.ts';

const path = '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset';
const allowing = (...allowed: string[]) => ({ target: path, allowed });

describe('an answer that describes a system', () => {
  const system = { '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem', Id: '1', PowerState: 'On' };
  const found = (change: object) => strangenessOf({ status: 200, body: { ...system, ...change } } as never);

  it.each([
    [{ '@odata.type': '#Chassis.v1_25_0.Chassis' }, '@odata.type is "#Chassis.v1_25_0.Chassis"'],
    [{ '@odata.type': undefined }, '@odata.type is absent'],
    [{ Id: '' }, 'Id is ""'],
    [{ Id: 7 }, 'Id is 7'],
  ])('is refused with the reason when it has %j', (change, reason) => {
    expect(found(change)).toEqual([expect.stringContaining(reason)]);
  });

  it('reports every reason, or only that the answer could not be read', () => {
    expect(found({ Id: 7, '@odata.type': 'System' })).toHaveLength(2);
    expect(strangenessOf({ status: 200, body: {}, problem: 'it is not JSON' } as never)).toEqual(['it is not JSON']);
  });

  it.each([
    ['On', 'power on'],
    ['ON', 'power on'],
    ['Off', 'power off'],
    ['PoweringOn', null],
    ['PoweringOff', null],
    ['Paused', null],
    ['Reset', null],
    ['Starting', null],
    ['constructor', null],
    ['', null],
    [null, null],
    [undefined, null],
  ])('with the power state %j is accepted, and has %s', (PowerState, power) => {
    expect(found({ PowerState })).toEqual([]);
    expect(powerProblems({ PowerState })).toEqual([]);
    expect(powerIn({ PowerState })).toBe(power);
  });

  it.each([true, 1, { a: 1 }])('has no power that can be read when it shows %j', (PowerState) => {
    expect(powerProblems({ PowerState })).toEqual([expect.stringContaining('PowerState is')]);
    expect(powerIn({ PowerState })).toBeNull();
  });

  it('is quoted in at most 80 characters', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(shownValue('x'.repeat(500))).toHaveLength(80);
    expect(shownValue(circle)).toBe('an unprintable value');
  });
});

describe('the reset action of a system', () => {
  const system = (action: unknown) => ({ Actions: { '#ComputerSystem.Reset': action } });
  const resetIn = (body: object, info?: object) => resetAction(bmcActionIn({ ...body }, resetName, { ...info }));

  it('has its allowed types inline, else in its action info, else unlisted', () => {
    const inline = { target: path, 'ResetType@Redfish.AllowableValues': ['On'] };
    const info = { Parameters: [{ Name: 'Other' }, { Name: 'ResetType', AllowableValues: ['ForceOff'] }] };
    expect(resetIn(system(inline), info)).toEqual(allowing('On'));
    expect(resetIn(system({ target: path }), info)).toEqual(allowing('ForceOff'));
    expect(resetIn(system({ target: path }))).toEqual({ target: path, allowed: undefined });
    const other = { Parameters: [null, { Name: 'Other' }] };
    expect(resetIn(system({ target: path }), other)).toMatchObject({ allowed: undefined });
  });

  it.each([
    [
      ['On', 1, null, 'Vendor.Sleep'],
      ['On', 'Vendor.Sleep'],
    ],
    [[], undefined],
    ['On', undefined],
    [null, undefined],
  ])('has those types that can be read in %j', (list, allowed) => {
    const action = { target: path, 'ResetType@Redfish.AllowableValues': list };
    expect(resetIn(system(action))).toEqual({ target: path, allowed });
  });

  it.each([
    [{}, 'no reset action'],
    [{ Actions: null }, 'no reset action'],
    [system(null), 'no reset action'],
    [system({ target: 7 }), 'the target of its reset action is 7'],
    [system({ target: '' }), 'expected an address'],
  ])('is refused with the reason in %j', (body, reason) => {
    const action = resetIn(body);
    expect(action).toContain(reason);
    expect(resetProblems(action)).toEqual([action]);
  });

  it.each([
    ['power on', ['ForceOn', 'On'], 'On'],
    ['power on', ['PushPowerButton', 'ForceOn'], 'ForceOn'],
    ['power off', ['GracefulShutdown', 'ForceOff'], 'ForceOff'],
    ['power off', ['PushPowerButton'], 'PushPowerButton'],
    ['power off', ['PushPowerButton', 'ForceOff'], 'ForceOff'],
    ['soft power off', ['ForceOff', 'GracefulShutdown'], 'GracefulShutdown'],
    ['soft power off', ['ForceOff'], undefined],
  ] as const)('to %s, out of %j, is %s', (change, allowed, type) => {
    expect(resetFor(change, allowing(...allowed))).toBe(type);
  });

  it('is the plainest type when the controller lists none', () => {
    expect(resetFor('power on', { target: path, allowed: undefined })).toBe('On');
  });

  it('must turn the machine on and off', () => {
    expect(resetProblems(allowing('On', 'ForceOff'))).toEqual([]);
    expect(resetProblems(allowing('PushPowerButton'))).toEqual([]);
    expect(resetProblems(allowing('On'))).toEqual(['none of its resets (On) can turn it off']);
    expect(resetProblems(allowing('GracefulRestart'))).toHaveLength(2);
  });
});
