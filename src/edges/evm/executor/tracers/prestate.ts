import type { InterpreterStep } from '@ethereumjs/evm';
import type { TypedTransaction } from '@ethereumjs/tx';
import {
  type Address,
  bytesToHex,
  createAddressFromBigInt,
  createAddressFromString,
  createContractAddress,
  createContractAddress2,
  eoaCode7702RecoverAuthority,
  hexToBytes,
  setLengthLeft,
} from '@ethereumjs/util';
import type { VM } from '@ethereumjs/vm';
import { keccak256 } from '../keccak.ts';
import type { Hex } from '../outcome.ts';
import type { Tracer } from './tracer.ts';

/** Options of go-ethereum's `prestateTracer`. */
export type PrestateOptions = Readonly<{
  diffMode?: boolean | undefined;
  disableCode?: boolean | undefined;
  disableStorage?: boolean | undefined;
  includeEmpty?: boolean | undefined;
}>;

/** An account as it is shown: without what it does not have. */
export type PrestateAccount = Readonly<{
  balance?: Hex;
  nonce?: number;
  code?: Hex;
  codeHash?: Hex;
  storage?: Readonly<Record<Hex, Hex>>;
}>;
type Shown = Readonly<Record<string, PrestateAccount>>;

/** What a transaction changed: accounts as they were and, where there still are, with what is other now. */
export type StateDifference = Readonly<{ post: Shown; pre: Shown }>;

type Known = Readonly<{ address: Address; account: Values; slots: Map<Hex, Hex> }>;
type Values = Readonly<{ balance: bigint; nonce: bigint; code: Hex }>;

const hashOf = (code: Hex): Hex => bytesToHex(keccak256(hexToBytes(code)));
const zero: Hex = `0x${'0'.repeat(64)}`;
const wordOf = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;
const addressOf = (value: bigint | undefined): Address => createAddressFromBigInt((value ?? 0n) & ((1n << 160n) - 1n));

/** Instructions that touch an account or a slot. */
const ofState = /^(SLOAD|SSTORE|EXTCODE.*|BALANCE|SELFDESTRUCT|CALL|CALLCODE|DELEGATECALL|STATICCALL|CREATE2?)$/;
const ofTop = new Set(['EXTCODECOPY', 'EXTCODEHASH', 'EXTCODESIZE', 'BALANCE', 'SELFDESTRUCT']);
const ofSecond = new Set(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL']);

/**
 * Records what a transaction needed of the state before it, or what it changed, in the form of go-ethereum's
 * `prestateTracer`.
 */
export function followState(
  { stateManager: state }: VM,
  coinbase: Address,
  options: PrestateOptions,
): Tracer<Shown | StateDifference> {
  const following: Following = { state, options, known: new Map() };
  const { known } = following;
  return {
    before: async (tx) => {
      const from = tx.getSenderAddress();
      await touchCalled(following, tx.to ?? createContractAddress(from, tx.nonce));
      for (const address of [from, coinbase, ...authoritiesOf(tx)]) await touch(following, address);
    },
    step: (step) => (ofState.test(step.opcode.name) ? stepped(following, step) : undefined),
    report: async () => {
      if (options.diffMode === true) return await difference(following);
      const shown = [...known].map(([name, { account, slots }]) => [name, shownOf(options, account, slots)] as const);
      return Object.fromEntries(shown.filter(([name]) => options.includeEmpty === true || !isEmpty(known.get(name))));
    },
  };
}

type Following = Readonly<{ state: VM['stateManager']; options: PrestateOptions; known: Map<string, Known> }>;
type State = Following['state'];

async function valuesOf(state: State, address: Address): Promise<Values> {
  const account = await state.getAccount(address);
  const code = account?.isContract() === true ? await state.getCode(address) : new Uint8Array();
  return { balance: account?.balance ?? 0n, nonce: account?.nonce ?? 0n, code: bytesToHex(code) };
}

async function slotOf(state: State, address: Address, slot: Hex): Promise<Hex> {
  return bytesToHex(setLengthLeft(await state.getStorage(address, hexToBytes(slot)), 32));
}

/** What is known of an account as it was before; read now where nothing is known yet. */
async function touch({ state, known }: Following, address: Address): Promise<Known> {
  const name = address.toString();
  const one = known.get(name) ?? { address, account: await valuesOf(state, address), slots: new Map<Hex, Hex>() };
  known.set(name, one);
  return one;
}

/** What is called, and the account whose code it runs where it has named one (EIP-7702). */
async function touchCalled(following: Following, address: Address): Promise<void> {
  await touch(following, address);
  const { code } = await valuesOf(following.state, address);
  if (code.startsWith(delegation) && code.length === delegationDigits)
    await touch(following, createAddressFromString(`0x${code.slice(delegation.length)}`));
}

const delegation = '0xef0100';
const delegationDigits = delegation.length + 40;

async function stepped(following: Following, step: InterpreterStep): Promise<void> {
  const { opcode, stack, address } = step;
  if (opcode.name === 'SLOAD' || opcode.name === 'SSTORE') {
    const slot = wordOf(stack.at(-1) ?? 0n);
    const { slots } = await touch(following, address);
    if (!slots.has(slot) && following.options.disableStorage !== true)
      slots.set(slot, await slotOf(following.state, address, slot));
  } else if (ofTop.has(opcode.name)) await touch(following, addressOf(stack.at(-1)));
  else if (ofSecond.has(opcode.name)) await touchCalled(following, addressOf(stack.at(-2)));
  else if (opcode.name.startsWith('CREATE')) await touch(following, createdBy(step));
}

function shownOf(
  options: PrestateOptions,
  { balance, nonce, code }: Values,
  slots: ReadonlyMap<Hex, Hex>,
): PrestateAccount {
  return {
    balance: `0x${balance.toString(16)}`,
    ...(nonce > 0n && { nonce: Number(nonce) }),
    ...(code !== '0x' && { codeHash: hashOf(code) }),
    ...(code !== '0x' && options.disableCode !== true && { code }),
    ...(slots.size > 0 && { storage: Object.fromEntries(slots) }),
  };
}

async function difference({ state, options, known }: Following): Promise<StateDifference> {
  const [post, pre]: [Record<string, PrestateAccount>, Record<string, PrestateAccount>] = [{}, {}];
  for (const [name, one] of known) {
    const { address, account, slots } = one;
    const keepsPre = options.includeEmpty === true || !isEmpty(one);
    if ((await state.getAccount(address)) === undefined) {
      if (keepsPre && !isEmpty(one)) pre[name] = shownOf(options, account, slots);
      continue;
    }
    const now = await valuesOf(state, address);
    const changed = new Map<Hex, Hex>();
    for (const [slot, value] of slots) {
      const after = await slotOf(state, address, slot);
      if (after !== value) changed.set(slot, after);
    }
    const { balance, nonce, code } = now;
    const shown: PrestateAccount = {
      ...(balance !== account.balance && { balance: `0x${balance.toString(16)}` as const }),
      ...(nonce !== account.nonce && { nonce: Number(nonce) }),
      ...(code !== account.code && { codeHash: hashOf(code) }),
      ...(code !== account.code && options.disableCode !== true && { code }),
      ...([...changed.values()].some((value) => value !== zero) && { storage: withoutZeros(changed) }),
    };
    const isChanged = changed.size > 0 || code !== account.code || Object.keys(shown).length > 0;
    if (!isChanged) continue;
    post[name] = shown;
    const had = new Map([...slots].filter(([slot, value]) => changed.has(slot) && value !== zero));
    if (keepsPre) pre[name] = shownOf(options, account, had);
  }
  return { post, pre };
}

const withoutZeros = (slots: ReadonlyMap<Hex, Hex>): Readonly<Record<Hex, Hex>> =>
  Object.fromEntries([...slots].filter(([, value]) => value !== zero));

const isEmpty = (one: Known | undefined): boolean =>
  one === undefined || (one.account.balance === 0n && one.account.nonce === 0n && one.account.code === '0x');

/** The accounts that let a transaction set their code. */
function authoritiesOf(tx: TypedTransaction): readonly Address[] {
  if (!('authorizationList' in tx)) return [];
  return tx.authorizationList.flatMap((one) => {
    try {
      return [eoaCode7702RecoverAuthority(one)];
    } catch {
      return [];
    }
  });
}

/** The address of the contract that an instruction makes. */
function createdBy({ opcode, stack, address, account, memory }: InterpreterStep): Address {
  if (opcode.name === 'CREATE') return createContractAddress(address, account.nonce);
  const [offset, size, salt] = [stack.at(-2), stack.at(-3), stack.at(-4)].map((value) => value ?? 0n);
  const code = new Uint8Array(Math.min(Number(size), mostCodeBytes));
  code.set(memory.subarray(Number(offset), Number(offset) + code.length));
  return createContractAddress2(address, hexToBytes(wordOf(salt ?? 0n)), code);
}

/** Longer code is refused by the machine. */
const mostCodeBytes = 1 << 20;
