/** Groups of instances in the form of AWS: a fixed size, a launch configuration, updates in batches. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const files = {
  'instance.yaml': `
heat_template_version: 2018-08-31
parameters: {ImageId: {type: string}, InstanceType: {type: string}, Tags: {type: json}}
resources: {v: {type: OS::Heat::TestResource, properties: {value: {get_param: ImageId}}}}
outputs: {PublicIp: {value: {get_attr: [v, output]}}}
`,
};
const environment = { resource_registry: { 'AWS::EC2::Instance': 'instance.yaml' } };
const group = ({ size = 2, image = '10.0.0.1', policy = '', configuration = '{get_resource: lc}', tags = '' }) => ({
  files,
  environment,
  template: `
heat_template_version: 2018-08-31
resources:
  lc: {type: AWS::AutoScaling::LaunchConfiguration, properties: {ImageId: ${image}, InstanceType: m1}}
  g:
    type: OS::Heat::InstanceGroup
    ${policy && `update_policy: {RollingUpdate: ${policy}}`}
    properties: {AvailabilityZones: [nova], LaunchConfigurationName: ${configuration}, Size: ${size}${tags}}
outputs:
  list: {value: {get_attr: [g, InstanceList]}}
  reference: {value: {get_resource: g}}
`,
});
const eventsInside = async (id: string): Promise<string[]> => {
  const inside = (await world.stacks(true)).find(({ parent }) => parent === id);
  return inside ? world.events(inside.id) : [];
};
const membersOf = async (id: string): Promise<string[]> => {
  const inside = (await world.stacks(true)).find(({ parent }) => parent === id);
  return inside ? (await world.resources(inside.id)).map(({ name }) => name).sort() : [];
};

describe('an instance group', () => {
  it('has the requested number of instances, and lists their addresses', async () => {
    const root = await world.createAndWait('s', group({ size: 3 }));
    expect(world.outputs(root)).toMatchObject({ list: '10.0.0.1,10.0.0.1,10.0.0.1' });
    expect(world.outputs(root)['reference']).toMatch(/^s-g-/);
    const before = await membersOf(root.id);
    await world.updated(root.id, group({ size: 5 }));
    const more = await membersOf(root.id);
    expect(more).toEqual(expect.arrayContaining(before));
    expect(more).toHaveLength(5);
    const none = await world.updated(root.id, group({ size: 0 }));
    expect(world.outputs(none)['list']).toBeNull();
    expect(await membersOf(root.id)).toEqual([]);
  });

  it('updates in batches when its configuration changes, with a pause and a minimum in service', async () => {
    const policy = "{MinInstancesInService: '2', MaxBatchSize: '2', PauseTime: PT1S}";
    const root = await world.createAndWait('s', group({ size: 3, policy }));
    const before = await membersOf(root.id);
    const eventsBefore = (await eventsInside(root.id)).length;
    const after = await world.updated(root.id, group({ size: 3, image: '10.0.0.2', policy }));
    expect(world.outputs(after)['list']).toBe('10.0.0.2,10.0.0.2,10.0.0.2');
    expect(await membersOf(root.id)).toEqual(before);
    let [changing, most] = [0, 0];
    for (const event of (await eventsInside(root.id)).slice(eventsBefore)) {
      if (!before.includes(event.split(' ')[0] ?? '')) continue;
      if (event.endsWith('UPDATE IN_PROGRESS')) changing += 1;
      if (event.endsWith('UPDATE COMPLETE')) changing -= 1;
      most = Math.max(most, changing);
    }
    expect(most).toBeLessThanOrEqual(2);
  });

  it('adds its own name to the tags of each instance', async () => {
    const root = await world.createAndWait('s', group({ size: 1, tags: ', Tags: [{Key: a, Value: b}]' }));
    const [, instance] = (await world.resources(root.id, 5)).filter(
      ({ type }) => type === 'OS::Heat::ScaledResource' || type === 'OS::Heat::InstanceGroup',
    );
    expect(instance?.properties).toMatchObject({
      ImageId: '10.0.0.1',
      Tags: expect.arrayContaining([
        { Key: 'a', Value: 'b' },
        { Key: 'metering.groupname', Value: expect.stringMatching(/^s-g-/) },
      ]),
    });
  });

  it('gives each instance every property of its configuration', async () => {
    const properties = {
      ImageId: 'any',
      InstanceType: 'm1',
      KeyName: 'key',
      UserData: 'data',
      SecurityGroups: ['web'],
      BlockDeviceMappings: [
        { DeviceName: 'vdb', Ebs: { DeleteOnTermination: false, SnapshotId: 'snapshot', VolumeSize: '9' } },
      ],
      NovaSchedulerHints: [{ Key: 'group', Value: 'one' }],
    };
    const root = await world.createAndWait('s', {
      environment: { resource_registry: { 'OS::Heat::ScaledResource': 'OS::Heat::None' } },
      template: JSON.stringify({
        heat_template_version: '2018-08-31',
        resources: {
          lc: { type: 'AWS::AutoScaling::LaunchConfiguration', properties },
          g: {
            type: 'OS::Heat::InstanceGroup',
            properties: { AvailabilityZones: [], LaunchConfigurationName: { get_resource: 'lc' }, Size: 1 },
          },
        },
      }),
    });
    const instance = (await world.resources(root.id, 5)).find(({ type }) => type === 'OS::Heat::ScaledResource');
    expect(instance?.properties).toMatchObject(properties);
  });

  it('refuses a configuration that is given by name instead of by reference', async () => {
    await expect(world.create('s', group({ configuration: 'missing' }))).rejects.toThrow(
      'LaunchConfigurationName (missing) reference can not be found.',
    );
  });
});
