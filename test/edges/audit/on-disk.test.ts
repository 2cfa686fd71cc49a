import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type EmbeddedNats, startNats } from '../../../src/edges/servers/nats/nats-server.ts';
import { streamsFolder } from '../../../src/edges/servers/nats/stream-files.ts';
import { connectNats } from '../../../src/edges/log/connection.ts';
import { createLog } from '../../../src/edges/log/log.ts';
import { ensureStreams, streamName } from '../../../src/edges/log/streams.ts';
import { flipBit } from '../../support/flip-bit.ts';
import { until } from '../../support/polling.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { randomHistory } from '../../support/random-history.ts';
import { actionOf, appendFacts, everything } from '../log/fresh-log.ts';
import { keptLog, untilArchived } from './kept.ts';

const network = 'ondisk';
const start = (dir: string): Promise<EmbeddedNats> =>
  startNats({ dir, host: '127.0.0.1', port: 0, wsPort: 0, say: () => undefined });

test('keepArchive makes a stream whole on disk whose last block was damaged under a running broker, and nothing written meanwhile is lost', async () => {
  const dir = temporaryFolder();
  const server = await start(dir);
  onTestFinished(() => server.stop());
  const nc = await connectNats({ ...server, name: 'test' });
  onTestFinished(() => nc.close());
  await ensureStreams(nc, network);
  const own = { nc, network, log: createLog(nc, network), streamFiles: streamsFolder(dir) };
  const kept = await keptLog({ scrubIntervalMs: 100, own });
  await appendFacts(kept.log, randomHistory(6, { actions: 20 }));
  const { stop } = kept.start();
  await untilArchived(kept, 'ACTIONS');
  const before = await everything(kept.log, 'ACTIONS');

  const writing = keepWriting(kept.log);
  await until('the files were looked at', () => writing.acknowledged() > 20);
  flipIn(path.join(own.streamFiles, streamName('ACTIONS', network), 'msgs'));
  const mended = async (): Promise<boolean> =>
    (await kept.store.standings()).some(({ stream, mended: done }) => stream === 'ACTIONS' && done.length > 0);
  await until('it is mended', mended);
  const count = await writing.stop();
  await untilArchived(kept, 'ACTIONS');
  const after = await everything(kept.log, 'ACTIONS');
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + count);

  await stop();
  await nc.close();
  await server.stop();
  const again = await start(dir);
  onTestFinished(() => again.stop());
  const reading = await connectNats({ ...again, name: 'test' });
  onTestFinished(() => reading.close());
  expect(await everything(createLog(reading, network), 'ACTIONS')).toEqual(after);
});

/** Appends one action after the other, each until it is acknowledged. */
function keepWriting(log: Parameters<typeof appendFacts>[0]) {
  let isEnding = false;
  let acknowledged = 0;
  const write = async (): Promise<number> => {
    while (!isEnding) {
      const fact = actionOf(`while damaged ${acknowledged}`);
      await until('it is acknowledged', () => appendFacts(log, [fact]).then(() => true));
      acknowledged += 1;
    }
    return acknowledged;
  };
  const running = write();
  return {
    acknowledged: () => acknowledged,
    stop: async () => {
      isEnding = true;
      return await running;
    },
  };
}

/** In place, while the broker goes on appending. */
function flipIn(folder: string): void {
  const [name = ''] = readdirSync(folder).filter((file) => file.endsWith('.blk'));
  flipBit(path.join(folder, name), 300);
}
