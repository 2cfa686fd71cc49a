import { createConfig } from 'ponder';

const { BENCH_DATABASE, BENCH_RPC, BENCH_CHAIN, BENCH_BLOCKS } = process.env;

export default createConfig({
  database: { kind: 'postgres', connectionString: BENCH_DATABASE },
  chains: { bench: { id: Number(BENCH_CHAIN), rpc: BENCH_RPC } },
  contracts: {
    Log: {
      chain: 'bench',
      abi: [
        {
          type: 'event',
          name: 'Probed',
          inputs: [
            { name: 'node', type: 'uint256', indexed: false },
            { name: 'peers', type: 'uint256', indexed: false },
            { name: 'at', type: 'uint256', indexed: false },
          ],
        },
        {
          type: 'event',
          name: 'Moved',
          inputs: [
            { name: 'action', type: 'uint256', indexed: false },
            { name: 'step', type: 'uint256', indexed: false },
            { name: 'amount', type: 'uint256', indexed: false },
          ],
        },
      ],
      address: '0x00000000000000000000000000000000000be7c4',
      startBlock: 1,
      endBlock: Number(BENCH_BLOCKS),
    },
  },
});
