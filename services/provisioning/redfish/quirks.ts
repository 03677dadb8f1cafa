/**
 * How the firmware of vendors differs from the standard where a document does not show it, by the manufacturer of the
 * system. Everything that a document shows, such as allowable values, is read from it instead. Pure.
 */
type Body = Readonly<Record<string, unknown>>;

export interface Quirks {
  /** The targets of a boot from the virtual drive, best first. */
  readonly cd: readonly string[];
  /** A change of the boot override must state the boot mode too, because the firmware forgets or refuses it otherwise. */
  readonly wholeBoot: boolean;
}

const standard: Quirks = { cd: ['Cd', 'UsbCd'], wholeBoot: false };

export const vendorQuirks: readonly {
  readonly vendor: string;
  readonly is: RegExp;
  readonly quirks: Partial<Quirks>;
}[] = [
  // It shows the virtual drive as a USB drive: with the target Cd, the boot fails. Each change resets the mode to BIOS.
  { vendor: 'Supermicro', is: /\bsupermicro\b/i, quirks: { cd: ['UsbCd', 'Cd'], wholeBoot: true } },
  // It refuses a change that lacks one of mode, target and duration.
  {
    vendor: 'AMI, and boards with its firmware',
    is: /american megatrends|\bami\b|asrockrack|redfish_compatible/i,
    quirks: { wholeBoot: true },
  },
];

export function quirksOf({ Manufacturer: maker }: Body): Quirks {
  const known = typeof maker === 'string' ? vendorQuirks.find(({ is }) => is.test(maker)) : undefined;
  return { ...standard, ...known?.quirks };
}
