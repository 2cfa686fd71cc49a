import { expect, it } from 'vitest';
import { refuseMadeUpChain } from '../../src/cli/up.ts';
import { parseConfig } from '../../src/config.ts';

it('annals up refuses a made-up chain under the name of the real network', () => {
  const start = (env: Record<string, string>) => () => refuseMadeUpChain(parseConfig(env));
  expect(start({ NETWORK: 'main' })).toThrow('set CHAIN_API_BASE');
  expect(start({ NETWORK: 'main', CHAIN_API_BASE: 'https://lcd.example.org' })).not.toThrow();
  expect(start({ NETWORK: 'main', ROLES: 'projector' })).not.toThrow();
  expect(start({})).not.toThrow();
});
