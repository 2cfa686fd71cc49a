import { type NodeState, nodeStateAt, type SuperNode } from '../../../commands/ledger/chain.ts';
import type { Draft } from '../../../commands/ledger/draft.ts';
import { deregisterNode, registerNode, startNode, stopNode, updateNode } from '../../../commands/ledger/supernodes.ts';
import { type ContractCall, type Methods, numberOf, type ContractPage, pageOf, refuse } from './contract.ts';

const states: readonly NodeState[] = ['SUPERNODE_STATE_ACTIVE', 'SUPERNODE_STATE_DISABLED', 'SUPERNODE_STATE_STOPPED'];
const mostTop = 25;

type Registered = Readonly<{ validatorAddress: string; ipAddress: string; supernodeAccount: string; p2pPort: string }>;

/** The contract of SuperNodes: the rules that the chain's own messages call, in the name of the caller. */
export const nodeMethods = {
  registerSupernode: async (call: ContractCall, { p2pPort, ...given }: Registered) => {
    const type = '/lumera.supernode.v1.MsgRegisterSupernode';
    const message = { '@type': type, creator: call.caller, p2p_port: p2pPort, ...given } as const;
    const node = await changed(call, given.validatorAddress, (draft) => registerNode(draft, message, call.block));
    return reported(call, 'SupernodeRegistered', node, { newState: stateOf(node) });
  },
  deregisterSupernode: async (call: ContractCall, validatorAddress: string) => {
    const message = {
      '@type': '/lumera.supernode.v1.MsgDeregisterSupernode',
      creator: call.caller,
      validatorAddress,
    } as const;
    const node = await changed(call, validatorAddress, (draft) => deregisterNode(draft, message, call.block));
    return reported(call, 'SupernodeDeregistered', node, {
      oldState: numberOf(states, node.states.at(-2)?.state ?? ''),
    });
  },
  startSupernode: async (call: ContractCall, validatorAddress: string) => {
    const message = {
      '@type': '/lumera.supernode.v1.MsgStartSupernode',
      creator: call.caller,
      validatorAddress,
    } as const;
    const node = await changed(call, validatorAddress, (draft) => startNode(draft, message, call.block));
    return reported(call, 'SupernodeStateChanged', node, { newState: stateOf(node) });
  },
  stopSupernode: async (call: ContractCall, input: Readonly<{ validatorAddress: string; reason: string }>) => {
    const message = { '@type': '/lumera.supernode.v1.MsgStopSupernode', creator: call.caller, ...input } as const;
    const node = await changed(call, input.validatorAddress, (draft) => stopNode(draft, message, call.block));
    return reported(call, 'SupernodeStateChanged', node, { newState: stateOf(node) });
  },
  updateSupernode: async (call: ContractCall, { p2pPort, ...given }: Registered & Readonly<{ note: string }>) => {
    const type = '/lumera.supernode.v1.MsgUpdateSupernode';
    const message = { '@type': type, creator: call.caller, p2p_port: p2pPort, ...given } as const;
    await changed(call, given.validatorAddress, (draft) => updateNode(draft, message, call.block));
    return true;
  },
  getSuperNode: async ({ chain }: ContractCall, validatorAddress: string) =>
    await chain.run(({ node }) => infoOf(node(validatorAddress) ?? unknown(validatorAddress))),
  getSuperNodeByAccount: async ({ chain }: ContractCall, account: string) =>
    await chain.run(({ nodes }) => infoOf([...nodes()].find((node) => node.account === account) ?? unknown(account))),
  listSuperNodes: async ({ chain }: ContractCall, page: ContractPage) =>
    await chain.run(({ nodes }) => {
      const all = [...nodes()];
      return { nodes: pageOf(all, page).map(infoOf), total: BigInt(all.length) };
    }),
  getTopSuperNodesForBlock: async (
    { chain, block }: ContractCall,
    { blockHeight, limit, state }: Readonly<{ blockHeight: bigint; limit: bigint; state: bigint }>,
  ) =>
    await chain.run(({ nodes }) => {
      const height = Number(blockHeight);
      const inState = [...nodes()].filter(
        (node) => state === 0n || numberOf(states, nodeStateAt(node, height) ?? '') === state,
      );
      const ranked = inState
        .map((node) => ({ node, distance: block.distance(height, node.operator) }))
        .toSorted((a, b) => (a.distance < b.distance ? -1 : 1));
      return ranked.slice(0, Math.min(Number(limit > 0n ? limit : mostTop), mostTop)).map(({ node }) => infoOf(node));
    }),
  getParams: async ({ chain }: ContractCall) =>
    await Promise.resolve({
      minimumStake: BigInt(chain.genesis.params.minimumStake),
      reportingThreshold: 0n,
      slashingThreshold: 0n,
      minSupernodeVersion: '0.0.0',
      minCpuCores: 0n,
      minMemGb: 0n,
      minStorageGb: 0n,
    }),
} satisfies Methods;

async function changed({ chain }: ContractCall, operator: string, rule: (draft: Draft) => void): Promise<SuperNode> {
  const draft = await chain.carryOut(rule);
  return draft.changes.nodes.get(operator) ?? unknown(operator);
}

function reported(
  { callerHex, emit }: ContractCall,
  event: string,
  node: SuperNode,
  values: Readonly<Record<string, bigint>>,
): true {
  emit(event, { validatorAddress: node.operator, creator: callerHex, ...values });
  return true;
}

function stateOf({ states: had }: SuperNode): bigint {
  return numberOf(states, had.at(-1)?.state ?? '');
}

function unknown(what: string): never {
  return refuse(`supernode ${what} not found`);
}

function infoOf(node: SuperNode) {
  const { operator, account, addresses, p2pPort, note, states: had } = node;
  return {
    validatorAddress: operator,
    supernodeAccount: account,
    currentState: stateOf(node),
    stateHeight: BigInt(had.at(-1)?.height ?? 0),
    ipAddress: addresses.at(-1)?.address ?? '',
    p2pPort,
    note,
    evidenceCount: 0n,
  };
}
