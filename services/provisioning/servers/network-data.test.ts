import { describe, expect, it } from 'vitest';
import { networkData } from './network-data.ts';

const mac = '52:54:00:AA:00:01';
const other = '52:54:00:AA:00:02';

describe('the network configuration of a host', () => {
  it('is left to the host when the node declares no network', () => {
    expect(networkData({})).toBeUndefined();
    expect(networkData({ interfaces: [{ mac_address: mac, addresses: ['10.0.0.5'] }] })).toBeUndefined();
  });

  it('asks DHCP where no prefix is declared, and configures no interface without a network', () => {
    const interfaces = [
      { mac_address: mac, network: 'data' },
      { mac_address: other, link: 'LinkDown' },
    ];
    expect(networkData({ interfaces })).toEqual({
      links: [{ id: 'link0', type: 'phy', ethernet_mac_address: mac.toLowerCase(), mtu: null, vif_id: null }],
      networks: [{ id: 'network0', link: 'link0', network_id: 'data', type: 'ipv4_dhcp' }],
      services: [],
    });
  });

  it('sets the declared addresses, with the route and the name servers of their family', () => {
    const addresses = ['10.1.2.3', 'fd00::3'];
    const dns = ['10.1.2.1'];
    const interfaces = [{ mac_address: mac, network: 'data', addresses, prefix: 20, gateway: '10.1.0.1', dns }];
    const data = networkData({ interfaces });
    expect(data?.['networks']).toEqual([
      {
        id: 'network0',
        link: 'link0',
        network_id: 'data',
        type: 'ipv4',
        ip_address: '10.1.2.3',
        netmask: '255.255.240.0',
        routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.1.0.1' }],
      },
      {
        id: 'network1',
        link: 'link0',
        network_id: 'data',
        type: 'ipv6',
        ip_address: 'fd00::3',
        netmask: 'ffff:f000:0:0:0:0:0:0',
        routes: [],
      },
    ]);
    expect(data?.['services']).toEqual([{ type: 'dns', address: '10.1.2.1' }]);
  });
});
