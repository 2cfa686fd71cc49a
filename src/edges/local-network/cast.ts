import { createHash } from 'node:crypto';
import { addressOf, prefixes } from '../chain/sign/addresses.ts';
import { accountBytes, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';

/** A member of the cast with a key of their own; both addresses are the same bytes. */
export type Person = Readonly<{ name: string; key: PrivateKey; account: string; operator: string }>;

/** A SuperNode of the local network with the accounts that it works under in turn. */
export type CastNode = Readonly<{
  operator: Person;
  accounts: readonly [Person, Person];
  address: string;
  moniker: string;
  isJailed: boolean;
}>;

/** A SuperNode that runs; its account's key is the node's. */
export type RealNode = Readonly<{ operator: Person; account: Person; host: string; address: string; moniker: string }>;

/** All members of the local network. */
export type Cast = Readonly<{
  /** The last one has a wallet of the virtual machine, and registers Cascade actions by contract. */
  creators: readonly [Person, ...Person[]];
  /** SuperNodes of the script, which are only on the chain. */
  nodes: readonly CastNode[];
  /** SuperNodes that can run; the script does nothing with them. */
  realNodes: readonly RealNode[];
  bystander: Person;
}>;

/** First three numbers of the loopback addresses that the nodes live on. */
const defaultSubnet = '127.0.1';

/** An address that starts with a digit lacks its subnet; no server answers on any of them. */
const nodes = [
  { moniker: 'aurora', address: '11:4444' },
  { moniker: 'borealis', address: '12:4444' },
  { moniker: 'corona', address: '13:4444' },
  { moniker: 'deneb', address: 'deneb.annals.example:4444' },
  { moniker: 'eclipse', address: '15' },
  { moniker: 'flare', address: '16:4444', isJailed: true },
];

/** Their addresses end in 1 to 9, in this order. */
const realNodes = ['vega', 'altair', 'capella', 'rigel', 'spica', 'antares', 'mira', 'pollux', 'sirius'];

/** Nodes of the script that take part, the first ones; the others are only in the chain's list. */
export const takingPart = 3;

/** The cast of a seed: keys, and with them all Bech32 addresses, follow from it. */
export function castOf(seed: number, subnet = defaultSubnet): Cast {
  const person = (name: string): Person => personOf(seed, name);
  return {
    creators: [
      person('alice'),
      person('bob'),
      person('carol'),
      person('dave'),
      personOf(seed, 'erin', 'eth_secp256k1'),
    ],
    nodes: nodes.map(({ moniker, address, isJailed = false }) => ({
      operator: person(`${moniker}/operator`),
      accounts: [person(`${moniker}/account-1`), person(`${moniker}/account-2`)],
      address: /^\d/.test(address) ? `${subnet}.${address}` : address,
      moniker,
      isJailed,
    })),
    realNodes: realNodes.map((moniker, index) => ({
      operator: person(`${moniker}/operator`),
      account: personOf(seed, `${moniker}/account`, 'eth_secp256k1'),
      host: `${subnet}.${index + 1}`,
      address: `${subnet}.${index + 1}:4444`,
      moniker,
    })),
    bystander: person('genesis/operator'),
  };
}

/** Every actor of the script, once each. */
export function peopleOf(cast: Cast): readonly Person[] {
  const ofNodes = cast.nodes.flatMap(({ operator, accounts }) => [operator, ...accounts]);
  return [...cast.creators, ...ofNodes, cast.bystander];
}

/** Address of a module's account: the head of the hash of its name. */
export function moduleAddress(name: string): string {
  return addressOf(prefixes.account, createHash('sha256').update(name).digest().subarray(0, 20));
}

function personOf(seed: number, name: string, type: PrivateKey['type'] = 'secp256k1'): Person {
  const key: PrivateKey = {
    type,
    bytes: createHash('sha256').update(`annals-local/${seed}/${name}`).digest(),
  };
  const bytes = accountBytes(publicKeyOf(key));
  return { name, key, account: addressOf(prefixes.account, bytes), operator: addressOf(prefixes.operator, bytes) };
}
