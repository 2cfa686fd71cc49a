import { expect, it } from 'vitest';
import { actionFacts, nodeFacts, transactionAt } from '../../../support/histories/facts.ts';
import { startMovingWorld } from '../freshness/moving-world.ts';
import { startRest } from './rest-server.ts';

const facts = [nodeFacts('one').listed(), actionFacts('1').registered()];

it('GET /v1/supernodes/action-stats is made anew when a read model advanced, and only then', async () => {
  const { rest, append, token, close } = await startMovingWorld(facts);
  const ask = async () => {
    const { status, headers, body } = await rest.get('/v1/supernodes/action-stats', {
      headers: { 'annals-position': token('ACTIONS', 'NODES'), prefer: 'wait=10' },
    });
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
    });
    return body;
  };
  const counted = (sense: number) => ({
    supernodes: [{ id: 'one', cascade_count: 0, sense_count: sense, total_count: sense }],
  });
  for (const sense of [0, 1, 2]) {
    expect(await ask()).toEqual(counted(sense));
    expect(await ask()).toEqual(counted(sense));
    const id = String(2 + sense);
    const done = { accounts: ['lumera1account'], transaction: transactionAt(9 + sense) };
    append(actionFacts(id).registered({ kind: 'sense' }), actionFacts(id).finalized(done));
  }
  await close();
});

it('GET /v1/supernodes/{id}/paymentInfo keeps no refusal and tells nodes apart', async () => {
  const work = actionFacts('7').finalized({
    accounts: ['lumera1account'],
    payments: [{ account: 'lumera1account', denom: 'ulume', amount: '5' }],
    transaction: transactionAt(9),
  });
  const rest = await startRest([...facts, actionFacts('7').registered(), work]);
  const refused = async () => expect((await rest.get('/v1/supernodes/two/paymentInfo')).status).toBe(404);
  const paid = async () => {
    const { body } = await rest.get('/v1/supernodes/one/paymentInfo');
    expect(body).toEqual({ id: 'one', payments: [{ denom: 'ulume', total_amount: '5', payment_count: 1 }] });
  };
  for (const ask of [refused, paid, refused, paid]) await ask();
  await rest.close();
});
