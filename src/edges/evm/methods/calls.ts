import { Type } from 'typebox';
import { quantity as hex } from '../executor/block-forms.ts';
import * as forms from '../rpc/forms.ts';
import { type Method, method } from '../rpc/registry.ts';
import { stateBlock } from './block-of.ts';
import { hexOf } from '../executor/outcome.ts';

const request = { name: 'call', schema: forms.callRequest } as const;
const at = { name: 'block', schema: forms.blockId, optional: true } as const;
const stateOverrides = { name: 'state overrides', schema: forms.stateOverrides, optional: true } as const;
const blockOverrides = { name: 'block overrides', schema: forms.blockOverrides, optional: true } as const;
const optional = Type.Optional;

const simulation = Type.Object({
  blockStateCalls: Type.Array(
    Type.Object({
      blockOverrides: optional(forms.blockOverrides),
      stateOverrides: optional(forms.stateOverrides),
      calls: optional(Type.Array(forms.callRequest)),
    }),
  ),
  traceTransfers: optional(Type.Boolean()),
  validation: optional(Type.Boolean()),
  returnFullTransactions: optional(Type.Boolean()),
});

/** Methods that run calls which leave nothing behind. */
export const callMethods: readonly Method[] = [
  method({
    name: 'eth_call',
    namespace: 'eth',
    summary: 'What a call returns',
    params: [request, at, stateOverrides, blockOverrides],
    result: forms.bytes,
    handler: async (context, call, id, states, block) => {
      const { header } = await stateBlock(context, id);
      const overrides = { stateOverrides: states, blockOverrides: block };
      const input = { at: header, request: call, gasCap: context.gasCap, ...overrides };
      return hexOf(await context.reads.read('call', input));
    },
  }),
  method({
    name: 'eth_estimateGas',
    namespace: 'eth',
    summary: 'Gas that a call needs',
    params: [request, at, stateOverrides, blockOverrides],
    result: forms.quantity,
    handler: async (context, call, id, states, block) => {
      const { header } = await stateBlock(context, id);
      const overrides = { stateOverrides: states, blockOverrides: block };
      const values = { at: header, request: call, gasCap: context.gasCap, ...overrides };
      return hex(await context.reads.read('estimate', values));
    },
  }),
  method({
    name: 'eth_createAccessList',
    namespace: 'eth',
    summary: 'Slots that a call touches, and what it costs with them named',
    params: [request, at, stateOverrides],
    result: Type.Object({
      accessList: forms.accessList,
      gasUsed: forms.quantity,
      error: optional(Type.String()),
    }),
    handler: async (context, call, id, states) => {
      const { header } = await stateBlock(context, id);
      const pretended = { at: header, request: call, gasCap: context.gasCap, stateOverrides: states };
      const { accessList, gasUsed, error } = await context.reads.read('accessList', pretended);
      return { accessList, gasUsed: hex(gasUsed), ...(error !== undefined && { error }) };
    },
  }),
  method({
    name: 'eth_simulateV1',
    namespace: 'eth',
    summary: 'Calls in blocks that follow a real one',
    params: [{ name: 'simulation', schema: simulation }, at],
    result: Type.Array(Type.Object({ hash: forms.hash, calls: Type.Array(Type.Unknown()) })),
    handler: async (context, { blockStateCalls, ...options }, id) => {
      const { header } = await stateBlock(context, id);
      return await context.reads.read('simulate', {
        at: header,
        blockStateCalls,
        validation: options.validation ?? false,
        traceTransfers: options.traceTransfers ?? false,
        returnFullTransactions: options.returnFullTransactions ?? false,
        gasCap: context.gasCap,
      });
    },
  }),
];
