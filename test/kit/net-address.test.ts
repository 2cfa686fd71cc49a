import { expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { hostPort } from '../../src/kit/net-address.ts';

it.each([
  ['127.0.0.1', '127.0.0.1:1317'],
  ['localhost', 'localhost:1317'],
  ['::1', '[::1]:1317'],
  ['[::1]', '[::1]:1317'],
])('hostPort makes HOST=%s part of an address', (set, place) => {
  const { host, chainUrl } = parseConfig({ HOST: set });
  expect(chainUrl).toBe(`http://${place}`);
  expect(hostPort(host, 1317)).toBe(place);
  expect(new URL(`http://${hostPort(host, 1317)}`).host).toBe(place);
});
