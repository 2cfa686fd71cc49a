import { ponder } from 'ponder:registry';
import { life, lifeAccount, lifeCounter, lifePayment, node } from 'ponder:schema';

ponder.on('Log:Probed', async ({ event, context }) => {
  const { args } = event;
  const last = { available: true, peers: Number(args.peers), lastSeenAt: args.at };
  await context.db
    .insert(node)
    .values({ id: `node${args.node}`, ...last, probes: 1 })
    .onConflictDoUpdate((row) => ({ ...last, probes: row.probes + 1 }));
});

const idsPerBlock = 256;
const blocksPerGroup = 16;
const statuses = ['registered', 'finalized', 'approved'];

ponder.on('Log:Moved', async ({ event, context: { db } }) => {
  const [id, step] = [Number(event.args.action), Number(event.args.step)];
  const [height, tx] = [Number(event.block.number), event.transaction.hash];
  const [account, amount] = [`worker${id % 40}`, String(event.args.amount)];
  const before = await db.find(life, { id });
  const kind = `${id % 3 === 0 ? 'sense' : 'cascade'} ${statuses[step]}`;
  if (step === 0)
    await db.insert(life).values({
      id,
      type: kind.split(' ', 1)[0],
      status: 'registered',
      chainState: 'pending',
      creator: `creator${id % 300}`,
      dataHash: `hash of ${id}`,
      height,
      price: amount,
      metadata: '',
      expiresAt: '2027-01-01T00:00:00Z',
      registerTx: tx,
      steps: 1,
    });
  if (step === 1) {
    const done = {
      status: 'finalized',
      chainState: 'done',
      finalizeTx: tx,
      finalizedHeight: height,
      account,
      steps: 2,
    };
    await db.update(life, { id }).set(done);
    await db.insert(lifeAccount).values({ account, id, kind });
    await db.insert(lifePayment).values({ account, id, amount, txHash: tx, height });
  }
  if (step === 2) {
    const done = { status: 'approved', chainState: 'approved', approveTx: tx, approvedHeight: height, steps: 3 };
    await db.update(life, { id }).set(done);
    await db.update(lifeAccount, { account, id }).set({ kind });
  }
  if (before) await count(db, before, `${before.type} ${before.status}`, -1);
  await count(db, { id, creator: `creator${id % 300}`, account: step > 0 ? account : null }, kind, 1);
});

/** Adds to the counters of an action: of all, its creator and its account, each by ranges of ids. */
async function count(db, { id, creator, account }, kind, by) {
  const block = Math.floor(id / idsPerBlock);
  const group = Math.floor(block / blocksPerGroup);
  const scopes = [creator, ...(account === null ? [] : [account])];
  const cells = [
    { scope: 'all/1', block },
    ...['all', ...scopes].flatMap((scope) => [
      { scope: `${scope}/16`, block: group },
      { scope, block: 0 },
    ]),
  ];
  for (const cell of cells)
    await db
      .insert(lifeCounter)
      .values({ ...cell, kind, n: by })
      .onConflictDoUpdate((row) => ({ n: row.n + by }));
}
