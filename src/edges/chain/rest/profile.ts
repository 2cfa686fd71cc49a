import { existsSync, readFileSync } from 'node:fs';
import { sha256 } from '@noble/hashes/sha2.js';
import { bech32 } from '@scure/base';
import { AppError } from '../../../kit/errors.ts';
import { asObject } from './values.ts';

/** What differs from one network of the kind to another; one file each in `infra/networks`. */
export type NetworkProfile = Readonly<{
  /** Path of the chain's own modules below its REST address, such as `/LumeraProtocol/lumera`. */
  restPrefix: string;
  /** Bech32 prefix of accounts; that of operators is the same with `valoper`. */
  addressPrefix: string;
  /** Name of the module that holds the price of actions and pays it out. */
  actionModule: string;
  /** Version that operators should run; where absent, the highest that an available node reports. */
  recommendedVersion?: string | undefined;
}>;

const folder = new URL('../../../../infra/networks/', import.meta.url);

/**
 * The profile of a network; one without a file of its own has that of `main`.
 *
 * Fails with `INVALID_ARGUMENT` where the file lacks a field.
 *
 * @example loadProfile('main').addressPrefix // 'lumera'
 */
export function loadProfile(network: string): NetworkProfile {
  const own = new URL(`${network}.json`, folder);
  const file = existsSync(own) ? own : new URL('main.json', folder);
  const profile = asObject(JSON.parse(readFileSync(file, 'utf8')));
  const field = (name: string): string => {
    const value = profile?.[name];
    if (typeof value !== 'string' || value === '')
      throw new AppError('INVALID_ARGUMENT', `The network profile of ${network} lacks ${name}`);
    return value;
  };
  return {
    restPrefix: field('restPrefix').replace(/\/+$/, ''),
    addressPrefix: field('addressPrefix'),
    actionModule: field('actionModule'),
    recommendedVersion: profile?.['recommendedVersion'] === undefined ? undefined : field('recommendedVersion'),
  };
}

/** The account of a module: Bech32 of the first 20 bytes of SHA-256 of its name. */
export function moduleAccount(module: string, addressPrefix: string): string {
  const bytes = sha256(new TextEncoder().encode(module)).subarray(0, 20);
  return bech32.encode(addressPrefix, bech32.toWords(bytes));
}
