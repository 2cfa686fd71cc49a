import { EVMError, type ExecResult, type Log, type Message, type PrecompileInput } from '@ethereumjs/evm';
import { createAddressFromString, hexToBytes } from '@ethereumjs/util';
import type { Genesis } from '../../../commands/ledger/chain.ts';
import { TransactionFailed } from '../../../commands/ledger/failure.ts';
import { blockOf } from '../../../kit/shims/ethereumjs/machine.ts';
import { accountOfEvm, distance } from '../../chain/sign/addresses.ts';
import type { State } from '../executor/state/state.ts';
import type { Interface } from './abi.ts';
import { contractAddresses } from './addresses.ts';
import type { ContractCall, Methods } from './contract.ts';
import type * as loaded from './contracts.ts';
import { gas, GasSpent, Meter } from './gas.ts';
import { StoredChain } from './rules.ts';

/** A contract that runs outside of the machine. */
export type Precompile = Readonly<{
  address: ReturnType<typeof createAddressFromString>;
  function: (input: PrecompileInput) => Promise<ExecResult>;
}>;

/**
 * The system contracts of a chain over a state. `message` returns the current call, which the library passes only to
 * listeners.
 *
 * A call that a rule refuses is reverted with the rule's words; nothing of it is left. One whose gas does not pay the
 * next read or write stops before it.
 */
export function systemContracts(
  genesis: Genesis,
  state: State,
  message: () => Message | undefined,
): readonly Precompile[] {
  let loading: Promise<typeof loaded> | undefined;
  const contract = (name: keyof typeof contractAddresses): Precompile => ({
    address: createAddressFromString(contractAddresses[name]),
    function: async (input) => {
      // The interface of the contracts is loaded with the first call: most chains never see one.
      const { contracts, encodeRevert } = await (loading ??= import('./contracts.ts'));
      const { functions, event, methods } = contracts[name];
      const meter = new Meter(input.gasLimit);
      const logs: Log[] = [];
      const called = message();
      const callee = functions.get(Buffer.from(input.data.subarray(0, 4)).toString('hex'));
      try {
        meter.pay(gas.call);
        if (callee === undefined || called === undefined)
          throw new TransactionFailed('request', 'there is no such function');
        requirePlain(called, callee);
        if (!callee.isView) meter.pay(gas.inputByte * BigInt(input.data.length));
        const callerHex = called.caller.toString();
        const call: ContractCall = {
          callerHex,
          caller: accountOfEvm(callerHex),
          chain: new StoredChain(genesis, state, meter),
          block: shownBlock(input),
          emit: (what, values) => {
            const { topics, data } = event(what, values);
            meter.pay(gas.log + gas.topic * BigInt(topics.length) + gas.eventByte * BigInt(data.length));
            logs.push([hexToBytes(contractAddresses[name]), topics.map((topic) => hexToBytes(topic)), data]);
          },
        };
        const result = await carryOut(methods, callee, call, input.data.subarray(4));
        return { executionGasUsed: meter.spent, returnValue: callee.encode(result), logs };
      } catch (caught) {
        if (caught instanceof GasSpent) return outOfGas(input);
        if (!(caught instanceof TransactionFailed)) throw caught;
        const exceptionError = new EVMError(EVMError.errorMessages.REVERT);
        return { executionGasUsed: meter.spent, returnValue: encodeRevert(caught.message), exceptionError };
      }
    },
  });
  return [contract('action'), contract('supernode')];
}

/** A contract is called plainly, without coins: with another's code, it would act in the wrong name. */
function requirePlain({ delegatecall, isStatic, value, to, codeAddress }: Message, { isView }: Interface): void {
  if (delegatecall || !to?.equals(codeAddress))
    throw new TransactionFailed('request', 'the contract is called, not delegated to');
  if (value > 0n) throw new TransactionFailed('request', 'the contract takes no coins with a call');
  if (isStatic && !isView) throw new TransactionFailed('request', 'a static call changes nothing');
}

async function carryOut(methods: Methods, match: Interface, call: ContractCall, input: Uint8Array): Promise<unknown> {
  const method = methods[match.name];
  if (!method) throw new TransactionFailed('request', 'this chain does not offer it');
  let options: unknown;
  try {
    options = match.decode(input);
  } catch {
    throw new TransactionFailed('request', 'the arguments cannot be read');
  }
  return await method(call, options as never);
}

function outOfGas({ gasLimit }: PrecompileInput): ExecResult {
  const exceptionError = new EVMError(EVMError.errorMessages.OUT_OF_GAS);
  return { executionGasUsed: gasLimit, returnValue: new Uint8Array(), exceptionError };
}

function shownBlock(input: PrecompileInput): ContractCall['block'] {
  const { number, timestamp } = blockOf(input).header;
  return { height: Number(number), time: new Date(Number(timestamp) * 1000).toISOString(), distance };
}
