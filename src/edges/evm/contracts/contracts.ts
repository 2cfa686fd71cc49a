import { actionAbi, answering, nodeAbi } from './abi.ts';
import { actionMethods } from './action-contract.ts';
import { nodeMethods } from './node-contract.ts';

export { encodeRevert } from './abi.ts';

/** The system contracts: their interfaces, and their methods. */
export const contracts = {
  action: { ...answering(actionAbi), methods: actionMethods },
  supernode: { ...answering(nodeAbi), methods: nodeMethods },
} as const;
