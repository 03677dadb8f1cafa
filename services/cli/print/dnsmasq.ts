/** The configuration of dnsmasq for machines that boot by PXE. Pure. */
import { ipFamily } from '@anneal/contracts/readers/ip.ts';

export interface DnsmasqParameters {
  /** Under which machines reach the server. */
  readonly url: string;
  readonly interface: string;
  /** First and last address to give. Undefined when another DHCP server gives addresses. */
  readonly range: readonly [string, string] | undefined;
  /** The network of the other DHCP server. */
  readonly proxy: string | undefined;
  /** Folder with the programs of iPXE. */
  readonly ipxe: string;
}

/**
 * Beside another DHCP server, iPXE on a BIOS ignores the name of a file without the address of a server, which dnsmasq adds
 * only for UEFI. The name is a whole address, so any server will do.
 */
const serverAddress = (url: string, network: string): string => {
  const { hostname } = new URL(url);
  return ipFamily(hostname) === 4 ? hostname : network;
};

export function dnsmasqConfig({ url, interface: name, range, proxy, ipxe }: DnsmasqParameters): string {
  const addresses =
    range === undefined
      ? `# Another DHCP server gives the addresses; this one adds only what to boot.
dhcp-range=${proxy},proxy
pxe-service=tag:!ipxe,x86PC,"iPXE",undionly.kpxe
pxe-service=tag:!ipxe,X86-64_EFI,"iPXE",snponly.efi
pxe-service=tag:!ipxe,BC_EFI,"iPXE",snponly.efi`
      : `dhcp-range=${range.join(',')},12h
dhcp-authoritative`;
  return `# dnsmasq for machines that boot by PXE: TFTP gives them iPXE, which gets its script from Anneal.
# It needs the packages dnsmasq and ipxe. Start it with: dnsmasq --conf-file=THIS --keep-in-foreground
port=0
bind-interfaces
interface=${name}
${addresses}

enable-tftp
tftp-root=${ipxe}

# BIOS and UEFI firmware load iPXE.
dhcp-match=set:bios,option:client-arch,0
dhcp-match=set:efi,option:client-arch,7
dhcp-match=set:efi,option:client-arch,9
dhcp-userclass=set:ipxe,iPXE
dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe
dhcp-boot=tag:!ipxe,tag:efi,snponly.efi

# iPXE loads the script of its machine. The server finds the machine by its UUID.
dhcp-boot=tag:ipxe,${url.replace(/\/$/, '')}/boot/v1/ipxe?uuid=\${uuid}${proxy === undefined ? '' : `,,${serverAddress(url, proxy)}`}
`;
}
