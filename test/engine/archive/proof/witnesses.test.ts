import { Kvm } from '@nats-io/kv';
import { describe, expect, it } from 'vitest';
import { metaSchema } from '../../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../../src/engine/models/pool.ts';
import { createProvenLogs } from '../../../../src/engine/archive/proof/serving.ts';
import { signAll } from '../../../../src/engine/archive/proof/signing.ts';
import { createWitnesses, parseWitnesses } from '../../../../src/engine/archive/proof/witnesses.ts';
import { until } from '../../../support/polling.ts';
import { actionOf, appendFacts } from '../../log/fresh-log.ts';
import { type Kept, keptLog, untilArchived } from '../kept.ts';
import { startWitness, type WitnessUnderTest } from './witness-under-test.ts';

const checkpointOf = async (kept: Kept) =>
  await createProvenLogs({ pools: kept.store.pools, network: kept.network }).checkpoint('ACTIONS');

/** An archive of `names` that a witness looks on; nobody keeps it any more. */
async function witnessed(witness: WitnessUnderTest, ...names: readonly string[]): Promise<Kept> {
  const kept = await keptLog({ witnesses: [witness.witness] });
  const { stop } = kept.start();
  for (const name of names) {
    await appendFacts(kept.log, [actionOf(name)]);
    await untilArchived(kept, 'ACTIONS');
    await until('the witness has signed', async () => {
      const checkpoint = await checkpointOf(kept);
      return checkpoint?.size === (await kept.log.head('ACTIONS')).lastSequence && isWitnessed(checkpoint.note);
    });
  }
  await stop();
  return kept;
}

const isWitnessed = (note: string): boolean => /\n\u2014 witness\.example \S+\n$/.test(note);

describe('witnesses', () => {
  it('sign each checkpoint that extends what they signed, also one that knows more than this process', async () => {
    const witness = await startWitness();
    const kept = await witnessed(witness, 'a', 'b', 'c');
    const checkpoint = await checkpointOf(kept);
    expect(witness.signed.get(checkpoint?.origin ?? '')).toEqual({
      size: checkpoint?.size,
      root: checkpoint && Buffer.from(checkpoint.root),
    });
    await appendFacts(kept.log, [actionOf('d')]);
    // A process that begins knows nothing of what the witness has signed.
    const again = { ...kept.signing, cosign: createWitnesses() };
    const { stop } = kept.start();
    await untilArchived(kept, 'ACTIONS');
    await stop();
    witness.answers.clear();
    await withClient(kept.store.pools.bulk, async (client) => {
      await client.query(`delete from ${metaSchema(kept.network)}.log_checkpoints`);
    });
    await signAll(again);
    expect(witness.answers.get(checkpoint?.origin ?? '')).toEqual([409, 200]);
    expect(isWitnessed((await checkpointOf(kept))?.note ?? '')).toBe(true);
  });

  it('that do not answer hold up nothing, and sign once they are back', async () => {
    const witness = await startWitness();
    witness.instead.status = 503;
    const kept = await keptLog({ witnesses: [witness.witness] });
    kept.start();
    await appendFacts(kept.log, [actionOf('a')]);
    await until('a checkpoint without it', async () => (await checkpointOf(kept))?.size === 1);
    expect(await kept.signing.checkpoints.refusals()).toEqual([]);
    delete witness.instead.status;
    await until('it has signed', async () => isWitnessed((await checkpointOf(kept))?.note ?? ''));
  });

  it('that know another tree stop the signing, and the reason is told', async () => {
    const witness = await startWitness();
    const kept = await witnessed(witness, 'a', 'b');
    const schema = metaSchema(kept.network);
    // Both memories are gone, and the database holds another history: only the witness can notice.
    await (await new Kvm(kept.nc).open(`annals-checkpoints_${kept.network}`)).purge('ACTIONS');
    await withClient(kept.store.pools.bulk, async (client) => {
      await client.query(`delete from ${schema}.log_checkpoints`);
      await client.query(
        `update ${schema}.log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1) where stream = 'ACTIONS'`,
      );
    });
    await signAll(kept.signing);
    expect(await checkpointOf(kept)).toBeUndefined();
    expect(await kept.signing.checkpoints.refusals()).toMatchObject([
      { stream: 'ACTIONS', reason: expect.stringMatching(/^witness\.example has signed/) },
    ]);
  });

  it('are named by key and address, and by nothing else', () => {
    const key = `w.example+${'0'.repeat(8)}+${Buffer.alloc(33, 4).toString('base64')}`;
    expect(parseWitnesses('')).toEqual([]);
    for (const wrong of ['w.example', `${key} http://127.0.0.1`, key, 'https://w.example'])
      expect(() => parseWitnesses(wrong)).toThrow(/key \(name\+id\+base64\) and its address/);
  });
});
