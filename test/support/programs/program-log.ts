import type { Recorded } from '../../../src/commands/ports.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import type { Instance } from '../../../src/engine/servers/instance.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { projections } from '../../../src/projections/all.ts';
import { until } from '../polling.ts';
import { figuresOf } from '../figures.ts';

/** The log that a program writes, seen from beside it. */
export type ProgramLog = Log &
  Readonly<{
    /** The facts of a stream after a sequence, up to what is its end now. */
    factsOf: (stream: StreamName, after?: number) => Promise<readonly Recorded[]>;
    close: () => Promise<void>;
  }>;

/** Opens the log of a program, as one of its own replicas would. */
export async function openProgramLog({ nats, network }: Pick<Instance, 'nats' | 'network'>): Promise<ProgramLog> {
  const connection = await connectNats({ ...nats, name: 'test' });
  const log = createLog(connection, network);
  return {
    ...log,
    factsOf: async (stream, after = 0) => {
      const { lastSequence } = await log.head(stream);
      const facts: Recorded[] = [];
      if (lastSequence <= after) return facts;
      const ending = new AbortController();
      for await (const batch of log.follow(stream, after, { signal: ending.signal })) {
        facts.push(...batch.facts.filter(({ sequence }) => sequence <= lastSequence));
        if ((batch.facts.at(-1)?.sequence ?? 0) >= lastSequence) break;
      }
      ending.abort();
      return facts;
    },
    close: () => connection.close(),
  };
}

/** Waits until every read model of a program has applied all that is in the log at this moment. */
export async function untilFollowed(base: string, log: Log, withinMs?: number): Promise<void> {
  const wanted = await Promise.all(
    projections.map(async ({ name, stream }) => ({ name, stream, sequence: (await log.head(stream)).lastSequence })),
  );
  const look = async () => {
    const text = await figuresOf(base);
    return wanted.every(({ name, stream, sequence }) => {
      const figure = `annals_projection_position{projection="${name}",stream="${stream}"} `;
      const line = text.split('\n').find((one) => one.startsWith(figure));
      return line !== undefined && Number(line.slice(figure.length)) >= sequence;
    });
  };
  await until('every read model has followed the log', look, withinMs);
}
