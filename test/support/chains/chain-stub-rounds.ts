import { fromJson, toJson } from '@bufbuild/protobuf';
import { expect, onTestFinished } from 'vitest';
import type { FactLog } from '../../../src/commands/ports.ts';
import type { Source } from '../../../src/events/words.ts';
import { catalogue, type Fact } from '../../../src/events/catalogue.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import { readActions } from '../../../src/edges/indexer/rounds/actions-round.ts';
import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import { readSuperNodes, readValidators } from '../../../src/edges/indexer/rounds/nodes-round.ts';
import { loadProfile, type NetworkProfile } from '../../../src/edges/chain/rest/profile.ts';
import { runRound, type RoundEnd } from '../../../src/edges/indexer/rounds/round.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { type ChainStub, startChainStub } from './chain-stub.ts';
import { freshNetwork, testNats } from '../programs/servers.ts';

/** A stub of a chain and a log that nobody else uses, with single rounds between them. */
export type Syncing = ChainStub & {
  log: Log;
  network: string;
  profile: NetworkProfile;
  /** One round of a source, on `log` unless another one is given. */
  round: (
    source: Source,
    options?: { log?: FactLog; request?: string; client?: ReturnType<typeof createChainClient> },
  ) => Promise<RoundEnd>;
  /** The facts that were added to a stream since it was last asked about. */
  news: (stream: StreamName) => Promise<Fact[]>;
};

const read = { actions: readActions, supernodes: readSuperNodes, validators: readValidators };

/** Starts everything; it ends with the test. */
export async function syncing(): Promise<Syncing> {
  const stub = await startChainStub();
  const { url, user, pass } = testNats();
  const connection = await connectNats({ url, user, pass, name: 'test' });
  const network = freshNetwork();
  await ensureStreams(connection, network);
  const log = createLog(connection, network);
  const profile = loadProfile('main');
  const client = createChainClient(stub.url, profile);
  onTestFinished(async () => {
    await client.close();
    await connection.close();
    await stub.stop();
  });
  const seen = new Map<StreamName, number>();
  return {
    ...stub,
    log,
    network,
    profile,
    round: (source, options = {}) =>
      runRound({
        source,
        client,
        profile,
        signal: new AbortController().signal,
        report: () => undefined,
        read: read[source],
        ...options,
        log: { ...log, ...options.log },
      }),
    news: async (stream) => {
      const facts = await factsAfter(log, stream, seen.get(stream) ?? 0);
      seen.set(stream, facts.at(-1)?.sequence ?? seen.get(stream) ?? 0);
      for (const { fact } of facts) expectOfItsSchema(fact);
      return facts.map(({ fact }) => fact);
    },
  };
}

/** What lies in the log holds nothing that its schema does not know, and all that it promises. */
function expectOfItsSchema({ type, data }: Fact): void {
  const { schema } = catalogue[type];
  const json = JSON.parse(JSON.stringify(data));
  expect(toJson(schema, fromJson(schema, json), { alwaysEmitImplicit: true })).toEqual(json);
}

async function factsAfter(log: Log, stream: StreamName, after: number): Promise<{ sequence: number; fact: Fact }[]> {
  const { lastSequence } = await log.head(stream);
  const facts: { sequence: number; fact: Fact }[] = [];
  const done = new AbortController();
  if (lastSequence <= after) return facts;
  for await (const batch of log.follow(stream, after, { signal: done.signal })) {
    facts.push(...batch.facts);
    if ((facts.at(-1)?.sequence ?? 0) >= lastSequence) done.abort();
  }
  return facts;
}
