import { Type } from 'typebox';
import { quantity as hex } from '../executor/block-forms.ts';
import { type Hex, hexOf } from '../executor/outcome.ts';
import { address, blockId, bytes, hash, quantity, slot } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { type BlockId, stateBlock } from './block-of.ts';

const of = { name: 'address', schema: address } as const;
const at = { name: 'block', schema: blockId, optional: true } as const;
/** The most slots of one request. */
const mostSlots = 1024;

const header = async (context: MethodContext, id: BlockId | undefined): Promise<Uint8Array> =>
  (await stateBlock(context, id)).header;

async function storageValues(
  context: MethodContext,
  requested: Readonly<Record<string, readonly Hex[]>>,
  id: BlockId | undefined,
): Promise<Record<string, readonly Hex[]>> {
  const entries = Object.entries(requested);
  const slots = entries.reduce((sum, [, list]) => sum + list.length, 0);
  if (slots === 0) throw new RpcError(rpcCodes.invalidParameters, 'empty request');
  if (slots > mostSlots) throw new RpcError(rpcCodes.invalidParameters, `too many slots (max ${mostSlots})`);
  const where = await header(context, id);
  const values: Record<string, readonly Hex[]> = {};
  for (const [name, list] of entries) {
    if (!/^0x[0-9a-fA-F]{40}$/.test(name)) throw new RpcError(rpcCodes.invalidParameters, `invalid address ${name}`);
    const words = await context.reads.read('storage', { at: where, address: `0x${name.slice(2)}`, slots: list });
    values[name] = words.map((word) => hexOf(word));
  }
  return values;
}

/** The first nonce from one on that no waiting transaction of an account has, and none that was sealed just now. */
export function afterWaiting({ pool }: MethodContext, account: string, nonce: bigint): bigint {
  const own = new Set(
    pool
      .pending()
      .filter((tx) => tx.getSenderAddress().toString() === account.toLowerCase())
      .map((tx) => tx.nonce),
  );
  const sealed = pool.sealedNonce(account);
  let next = sealed > nonce ? sealed : nonce;
  while (own.has(next)) next += 1n;
  return next;
}

/** Methods that show accounts. */
export const stateMethods: readonly Method[] = [
  method({
    name: 'eth_getBalance',
    namespace: 'eth',
    summary: 'Balance of an account',
    params: [of, at],
    result: quantity,
    handler: async (context, account, id) =>
      hex((await context.reads.read('account', { at: await header(context, id), address: account })).balance),
  }),
  method({
    name: 'eth_getTransactionCount',
    namespace: 'eth',
    summary: 'Nonce of the next transaction of an account',
    params: [of, at],
    result: quantity,
    handler: async (context, account, id) => {
      const { nonce } = await context.reads.read('account', { at: await header(context, id), address: account });
      return hex(id === 'pending' ? afterWaiting(context, account, nonce) : nonce);
    },
  }),
  method({
    name: 'eth_getCode',
    namespace: 'eth',
    summary: 'Code of a contract',
    params: [of, at],
    result: bytes,
    handler: async (context, account, id) =>
      hexOf(await context.reads.read('code', { at: await header(context, id), address: account })),
  }),
  method({
    name: 'eth_getStorageAt',
    namespace: 'eth',
    summary: 'One slot of an account',
    params: [of, { name: 'slot', schema: slot }, at],
    result: hash,
    handler: async (context, account, wanted, id) => {
      const input = { at: await header(context, id), address: account, slots: [wanted] };
      const [word = new Uint8Array(32)] = await context.reads.read('storage', input);
      return hexOf(word);
    },
  }),
  method({
    name: 'eth_getStorageValues',
    namespace: 'eth',
    summary: 'Slots of several accounts',
    params: [{ name: 'slots by address', schema: Type.Record(Type.String(), Type.Array(slot)) }, at],
    result: Type.Record(Type.String(), Type.Array(hash)),
    handler: storageValues,
  }),
  method({
    name: 'eth_getProof',
    namespace: 'eth',
    summary: 'Merkle proofs of an account and of slots',
    params: [of, { name: 'slots', schema: Type.Array(slot, { maxItems: mostSlots }) }, at],
    result: Type.Object({ address, balance: quantity, accountProof: Type.Array(bytes) }),
    handler: async (context, account, slots, id) =>
      await context.reads.read('proof', { at: await header(context, id), address: account, slots }),
  }),
];
