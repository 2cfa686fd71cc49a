import { bech32 } from '@scure/base';
import { expect, it, onTestFinished } from 'vitest';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { actionFacts, nodeFacts, transactionAt } from '../../../support/histories/facts.ts';
import { type Random, seeded } from '../../../support/histories/random-history.ts';
import { startMovingWorld } from './moving-world.ts';

const addressOf = (prefix: string, byte: number) =>
  bech32.encode(prefix, bech32.toWords(new Uint8Array(20).fill(byte)));
const creators = [addressOf('lumera', 1), addressOf('lumera', 2)] as const;
const accounts = [addressOf('lumera', 3), addressOf('lumera', 4)] as const;
const operator = addressOf('lumeravaloper', 5);
const [idsApart, heightsApart, count] = [100, 40, 800];

/** What happens to each action, in its order; most are of the first creator and account, whose pair is large. */
function livesOf(random: Random): Fact[][] {
  return Array.from({ length: count }, (_, at) => {
    const creator = random.chance(0.9) ? creators[0] : creators[1];
    const { registered, finalized, approved } = actionFacts(String(at * idsApart + 1), { creator });
    const height = at * heightsApart;
    const both = random.chance(0.2) ? [...accounts] : [random.chance(0.8) ? accounts[0] : accounts[1]];
    const ended = transactionAt(height + random.below(9) * heightsApart);
    return [
      registered({ kind: random.pick(['cascade', 'sense']), height, transaction: transactionAt(height) }),
      finalized({ accounts: both, transaction: ended }),
      approved(),
    ];
  });
}

it('totals of large pairs are what they are when counted anew, after any facts, now and at an instant', async () => {
  const random = seeded(8);
  const owned = accounts.map((account, at) => ({ account, height: 1 + at * 20_000 }));
  const { rest, append, token, fresh, close } = await startMovingWorld([
    nodeFacts(operator).listed({ accounts: owned, account: accounts[1] }),
  ]);
  onTestFinished(close);
  const lives = livesOf(random);
  append(...lives.flatMap((life) => life.splice(0, random.below(4))));
  const paths = [...accounts, operator].flatMap((node) =>
    ['', '&state=finalized', '&type=sense&state=approved', '&fromHeight=9000&toHeight=31000', '&as_of='].map(
      (more) => `/v1/actions?limit=2&creator=${creators[0]}&supernode=${node}${more}`,
    ),
  );
  const early = encodeURIComponent(token('ACTIONS', 'NODES'));
  for (let round = 0; round < 6; round++) {
    const headers = { prefer: 'wait=10', 'annals-position': token('ACTIONS', 'NODES') };
    const answers = async (from: typeof rest) =>
      await Promise.all(
        paths.map(async (path) => (await from.get(path.replace(/as_of=$/, `as_of=${early}`), { headers })).text),
      );
    const cached = await answers(rest);
    const anew = await fresh();
    expect(cached).toEqual(await answers(anew));
    await anew.close();
    const open = lives.filter((life) => life.length > 0);
    append(
      ...Array.from({ length: random.below(20) }, () => random.pick(open as [Fact[]]).shift()).filter(
        (fact) => fact !== undefined,
      ),
    );
  }
});
