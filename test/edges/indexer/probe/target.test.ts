import { describe, expect, it } from 'vitest';
import { resolveTarget, targetOf } from '../../../../src/edges/chain/rest/target.ts';
import { displayHost } from '../../../../src/projections/fleet/address.ts';

const strict = { allowPrivate: false, allowHostNames: false };
const local = { allowPrivate: true, allowHostNames: false };
const named = { allowPrivate: false, allowHostNames: true };

describe('displayHost', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4444', '203.0.113.7'],
    ['[2001:db8::1]:4444', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['node.example.org:4444', 'node.example.org'],
    ['node_7', 'node_7'],
    ['', ''],
    [' 203.0.113.7', ' 203.0.113.7'],
    ['http://203.0.113.7:4444', 'http://203.0.113.7:4444'],
    ['203.0.113.7:', '203.0.113.7:'],
    ['203.0.113.7:port', '203.0.113.7:port'],
    ['<b>x</b>:1', '<b>x</b>:1'],
  ])('shows %j as %j', (address, shown) => {
    expect(displayHost(address)).toBe(shown);
  });
});

describe('targetOf', () => {
  it.each([
    ['1.1.1.1', '1.1.1.1'],
    ['1.1.1.1:4444', '1.1.1.1'],
    ['8.8.8.8:1', '8.8.8.8'],
    ['[2606:4700::1111]:4444', '2606:4700::1111'],
    ['2606:4700:0:0::1111', '2606:4700::1111'],
  ])('dials the public address of %j', (address, ip) => {
    expect(targetOf(address, strict)).toEqual({ kind: 'ip', ip });
  });

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.0.1',
    '192.168.255.255',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '127.0.0.1:8002',
    '::',
    '::1',
    '::127.0.0.1',
    '::7f00:1',
    '::2',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:1.1.1.1',
    '::ffff:0:1.1.1.1',
    '64:ff9b::7f00:1',
    '64:ff9b::1.1.1.1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:101:101::',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '[::1]:8002',
  ])('refuses %j, which is not public', (address) => {
    expect(targetOf(address, strict)).toEqual({ kind: 'refused', reason: 'not_public' });
  });

  it.each([
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '127.0.0.01',
    '1.1.1.1.',
    '256.1.1.1',
    '127.0.0.1\0.example.org',
    '１.1.1.1',
    '1.1.1.1 ',
    '1.1.1.1/24',
    'fe80::1%eth0',
    '[1.1.1.1]:4444',
    '1::2::3',
    '',
    ':',
    ':4444',
    'http://1.1.1.1:4444',
    '1.1.1.1@evil.example',
    'a..b',
    '-a.example',
    'a.example-',
    'x'.repeat(64),
    'localhost:99999999',
  ])('refuses %j, which is no literal address, whatever is allowed', (address) => {
    for (const options of [strict, local, { allowPrivate: true, allowHostNames: true }])
      expect(targetOf(address, options)).toMatchObject({ kind: 'refused' });
  });

  it.each(['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '::1', 'fd00::1'])(
    'dials %j where private addresses are allowed',
    (ip) => {
      expect(targetOf(ip, local)).toEqual({ kind: 'ip', ip });
    },
  );

  it.each(['169.254.169.254', '0.0.0.0', '224.0.0.1', '::ffff:127.0.0.1', 'fe80::1', '100.64.0.1'])(
    'refuses %j even then',
    (ip) => {
      expect(targetOf(ip, local)).toEqual({ kind: 'refused', reason: 'not_public' });
    },
  );

  it('takes a host name only where that is allowed', () => {
    expect(targetOf('Node.Example.org:4444', strict)).toEqual({ kind: 'refused', reason: 'host_name' });
    expect(targetOf('Node.Example.org:4444', named)).toEqual({ kind: 'name', name: 'node.example.org' });
  });
});

describe('resolveTarget', () => {
  const resolve = (address: string, options: typeof strict) => resolveTarget(targetOf(address, options), options);

  it('checks the address that a name leads to', async () => {
    expect(await resolve('localhost:4444', named)).toEqual({ kind: 'refused', reason: 'not_public' });
    expect(await resolve('localhost:4444', { allowPrivate: true, allowHostNames: true })).toMatchObject({ kind: 'ip' });
  });

  it('refuses a name that leads nowhere', async () => {
    expect(await resolve('nowhere.invalid', named)).toEqual({ kind: 'refused', reason: 'unresolved' });
  });
});
