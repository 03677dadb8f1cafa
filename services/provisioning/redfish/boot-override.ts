/** Picks a boot override among the values that the BMC allowsValue. Pure. */
type Body = Readonly<Record<string, unknown>>;
export type Override = Readonly<Record<string, string>>;

/** The allowed values. Undefined when the BMC lists none, so that every value of the standard may be tried. */
function allowed(boot: Body, property: string): readonly unknown[] | undefined {
  const values = boot[`${property}@Redfish.AllowableValues`];
  return Array.isArray(values) && values.length > 0 ? values : undefined;
}
export const allowsValue = (boot: Body, property: string, value: string): boolean =>
  allowed(boot, property)?.includes(value) ?? true;

/** The override with the present boot mode, for firmware that needs it. */
export function withMode(boot: Body, override: Override): Override {
  const { BootSourceOverrideMode: mode } = boot;
  return typeof mode === 'string' && override['BootSourceOverrideMode'] === undefined
    ? { ...override, BootSourceOverrideMode: mode }
    : override;
}

/** The first target that the BMC allows, else the first. */
export const allowedTarget = (boot: Body, targets: readonly string[]): string =>
  targets.find((target) => allowsValue(boot, 'BootSourceOverrideTarget', target)) ?? targets[0] ?? '';

/**
 * Overrides the next boot, or every boot if the firmware lacks `Once`. The machine is set back to its disk afterwards.
 */
export function overrideTo(boot: Body, target: string): Override {
  const once = allowsValue(boot, 'BootSourceOverrideEnabled', 'Once');
  return { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: once ? 'Once' : 'Continuous' };
}

/**
 * Overrides that lead back to the disk, best first: no override, then the disk for every boot, then the disk once.
 * Empty when the machine already boots in its own order.
 */
export function overridesToDisk(boot: Body): Override[] {
  const enabled = boot['BootSourceOverrideEnabled'];
  if (enabled === undefined || enabled === null || enabled === 'Disabled') return [];
  const pairs = [
    ['None', 'Disabled'],
    ['Hdd', 'Continuous'],
    ['Hdd', 'Once'],
    ['Hdd', 'Disabled'],
  ] as const;
  const possible = pairs.filter(
    ([target, how]) =>
      allowsValue(boot, 'BootSourceOverrideTarget', target) && allowsValue(boot, 'BootSourceOverrideEnabled', how),
  );
  const overrides = possible.map(([target, how]) => ({
    BootSourceOverrideTarget: target,
    BootSourceOverrideEnabled: how,
  }));
  // A firmware that lists neither may still accept `Disabled`.
  return overrides.length > 0 ? overrides : [{ BootSourceOverrideEnabled: 'Disabled' }];
}
