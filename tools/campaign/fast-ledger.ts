import { forgetStates } from '../../src/edges/evm/executor/state/forget-states.ts';
import { createExecution, type Execution } from '../../src/edges/evm/workers/execution.ts';
import { projectedBlocks } from '../../src/edges/ledger/blocks/projected-blocks.ts';
import { runLedger } from '../../src/edges/ledger/run-ledger.ts';
import { openSnapshots } from '../../src/edges/ledger/snapshots.ts';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLog } from '../../src/engine/log/log.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { createReader } from '../../src/engine/models/read/reading.ts';
import { createLogger } from '../../src/kit/logger.ts';
import type { Program } from '../../test/support/programs/run-program.ts';

/** A ledger that seals without a pause. */
type FastLedger = AsyncDisposable & Readonly<{ height: () => number; stop: () => Promise<void> }>;

/** The ledger of a program's stores, in this process: it seals one empty block after the other. */
export async function fastLedger({ instance }: Program, network: string): Promise<FastLedger> {
  const postgres = instance.postgres;
  const nc = await connectNats({ ...instance.nats, name: 'many blocks' });
  const pools = createPools(postgres, { applicationName: 'many blocks' });
  const reader = createReader({ pools, network });
  let execution: Execution | undefined;
  const ledger = await runLedger({
    log: createLog(nc, network),
    beginning: () => {
      throw new Error('The chain is there already');
    },
    execution: (config) => (execution = createExecution({ postgres, network, config })),
    snapshots: openSnapshots(postgres, network),
    forget: (state) => forgetStates(postgres, network, state),
    blocks: (whole) => projectedBlocks(reader, whole),
    host: '127.0.0.1',
    lcdPort: 0,
    logger: createLogger({ level: 'warn', format: 'json' }),
    signal: new AbortController().signal,
  });
  ledger.keep({ leastMs: 0, emptyMs: () => 1, onChange: () => undefined });
  return {
    height: () => ledger.status().height,
    stop: ledger.stop,
    [Symbol.asyncDispose]: async () => {
      await ledger.stop();
      await execution?.close();
      await pools.end();
      await nc.close();
    },
  };
}
