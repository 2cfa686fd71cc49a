import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type EmbeddedNats, startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { entityOf } from '../../../src/events/catalogue.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { cause, connected, everything, probeOf } from './fresh-log.ts';
import { steadyPort } from '../../support/programs/steady-port.ts';

/** A server of the test's own that can be killed, with its store on disk. */
async function ownServer(): Promise<{ start: () => Promise<EmbeddedNats> }> {
  const dir = await mkdtemp(path.join(tmpdir(), 'annals-crash-'));
  const port = await steadyPort();
  let server: EmbeddedNats | undefined;
  onTestFinished(async () => {
    await server?.stop();
    await rm(dir, { recursive: true, force: true });
  });
  return {
    start: async () => (server = await startNats({ dir, host: '127.0.0.1', port, wsPort: 0, say: () => undefined })),
  };
}

test(
  'append survives kill -9 of the broker: what was acknowledged is there, once, and what was under way is repeated',
  { timeout: 60_000 },
  async () => {
    const { start } = await ownServer();
    const server = await start();
    const nc = await connected(server);
    await ensureStreams(nc, 'crash');
    const log = createLog(nc, 'crash');
    const total = 3000;
    const acknowledged = new Map<number, number>();
    let next = 0;
    let restarted: Promise<EmbeddedNats> | undefined;
    const restart = async (): Promise<EmbeddedNats> => {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      return start();
    };
    const writer = async (): Promise<void> => {
      while (next < total) {
        const i = next++;
        if (i === total / 2) restarted = restart();
        const facts = [probeOf(`n${i}`, 2), ...(i % 10 === 0 ? [probeOf(`n${i}`, 3)] : [])];
        acknowledged.set(
          i,
          (await log.append([{ kind: 'probe', entity: `n${i}`, facts, expected: 0 }], cause)).sequence,
        );
      }
    };
    await Promise.all(Array.from({ length: 64 }, writer));
    await restarted;
    const facts = await everything(log, 'PROBES');
    expect(facts).toHaveLength(total + total / 10);
    const last = new Map(facts.map(({ fact, sequence }) => [entityOf(fact), sequence]));
    expect([...acknowledged].filter(([i, sequence]) => last.get(`n${i}`) !== sequence)).toEqual([]);
  },
);
