import { describe, expect, test } from 'vitest';
import { encodedMetadata } from '../../../src/commands/ledger/metadata.ts';
import expiry from '../../fixtures/chain-wire/expiry-events.json' with { type: 'json' };
import recordings from '../../fixtures/chain-wire/rest.json' with { type: 'json' };
import { approve, chainWithNode, finalize, outline, people, request, requestSense, SmallChain } from './small-chain.ts';

const recorded = (name: keyof typeof recordings) => {
  const { body } = recordings[name];
  if (typeof body !== 'object' || !('tx_response' in body)) throw new Error(`${name} is no transaction`);
  return body.tx_response;
};

describe('MsgRequestAction', () => {
  test('registers action 1 and moves its price into escrow, with the events of a real chain', () => {
    const chain = new SmallChain();
    const { code, events } = chain.run(request());
    expect(code).toBe(0);
    expect(outline(events)).toEqual(outline(recorded('txs/by_hash/register-1').events));
    expect(chain.state.action('1')).toMatchObject({
      state: 'ACTION_STATE_PENDING',
      height: 1,
      price: 10_060n,
      superNodes: [],
    });
    expect(chain.balance('module-action')).toBe(10_060n);
    expect(chain.balance(people.alice)).toBe(1_000_000n - 10_060n - 5000n);
  });

  test('encodes the metadata as protobuf, byte for byte the known vector', () => {
    const chain = new SmallChain();
    const metadata = {
      data_hash: 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=',
      file_name: 'a.txt',
      rq_ids_ic: 6,
      signatures: 'bGF5b3V0.c2ln',
      public: true,
    };
    chain.run(request({ metadata: JSON.stringify(metadata) }));
    const made = chain.state.action('1')?.metadata;
    if (made?.kind !== 'cascade') throw new Error('no Cascade metadata');
    expect(encodedMetadata({ ...made, idsMax: 50 })).toBe(
      'CixaRGV6ckRoR1VUUC90anQxSnpxTnRVakZXRVpkZWRzRC9UV2NiTlc5bllVPRIFYS50eHQYBiAyMg1iR0Y1YjNWMC5jMmxuOAE=',
    );
  });

  test.each([
    [
      'a price below the least one',
      { price: '500ulume' },
      18,
      'invalid price amount 500: must be at least 10010 (base + per-byte): invalid request',
    ],
    ['an expiration too soon', { expirationTime: '1' }, 1, 'but is 1 and the minimum is 1767225655: action expired'],
    ['metadata that is no JSON', { metadata: 'x' }, 4, 'metadata is not a JSON object: invalid metadata'],
    ['an unknown type', { actionType: 'nft' }, 18, 'invalid action type nft: invalid request'],
  ])('fails on %s and takes the fee alone', (_, changes, code, log) => {
    const chain = new SmallChain();
    const executed = chain.run(request(changes));
    expect(executed.code).toBe(code);
    expect(executed.log).toContain(log);
    expect(outline(executed.events)).toEqual(outline(recorded('txs/by_hash/failed-approve-twice-1').events));
    expect(chain.balance(people.alice)).toBe(995_000n);
    expect(chain.state.tallies.actions).toBe(0);
  });

  test('leaves no trace of its first message when its second one fails', () => {
    const chain = new SmallChain();
    const { code, log } = chain.run(request(), request({ price: '1ulume' }));
    expect(code).toBe(18);
    expect(log).toContain('message index: 1');
    expect(chain.state.action('1')).toBeUndefined();
  });
});

describe('MsgFinalizeAction', () => {
  test('pays 2 % to the pool and the rest to the node', () => {
    const chain = chainWithNode();
    chain.run(request());
    const before = chain.balance(people.node);
    chain.run(finalize('1'));
    expect(chain.balance('module-supernode')).toBe(201n);
    expect(chain.balance(people.node)).toBe(before - 10_000n + 9859n);
    expect(chain.balance('module-action')).toBe(0n);
    expect(chain.state.action('1')).toMatchObject({ state: 'ACTION_STATE_DONE', superNodes: [people.node] });
  });

  test('finalizes two actions in one transaction, told apart by msg_index alone', () => {
    const chain = chainWithNode();
    chain.run(request(), request({ price: '12510ulume' }));
    const { events } = chain.run(finalize('1'), finalize('2'));
    const withProofs = recorded('txs/by_hash/finalize-two-in-one-tx-1').events.filter(
      ({ type }) => type !== 'svc_verification_passed',
    );
    expect(outline(events)).toEqual(outline(withProofs));
    const amounts = events
      .filter(({ type }) => type === 'transfer')
      .map(({ attributes }) => attributes.map(({ value }) => value).slice(2));
    expect(amounts).toEqual([
      ['20000ulume'],
      ['201ulume', '0'],
      ['9859ulume', '0'],
      ['250ulume', '1'],
      ['12260ulume', '1'],
    ]);
  });

  test('empties the metadata of a Sense action', () => {
    const chain = chainWithNode();
    chain.run(requestSense());
    expect(chain.state.action('1')?.metadata).toMatchObject({ kind: 'sense', collectionId: 'c' });
    expect(chain.run(finalize('1', { ids: ['x'] })).code).toBe(0);
    expect(chain.state.action('1')?.metadata).toBeNull();
  });

  test.each([
    [
      'an account that is no SuperNode',
      { by: people.bob },
      'is not in the top-10 ACTIVE supernodes for block height 2',
    ],
    ['wrong ids', { ids: ['x'] }, 'cascade finalization rejected'],
  ])('is rejected with code 0 from %s', (_, how, text) => {
    const chain = chainWithNode();
    chain.run(request());
    const { code, events } = chain.run(finalize('1', how));
    expect(code).toBe(0);
    expect(outline(events)).toEqual(outline(recorded('txs/by_hash/rejected-finalize-not-a-SuperNode-1').events));
    expect(JSON.stringify(events)).toContain(text);
    expect(chain.state.action('1')?.state).toBe('ACTION_STATE_PENDING');
  });

  test('fails with code 10 where a Sense action is finalized by no SuperNode', () => {
    const chain = chainWithNode();
    chain.run(requestSense());
    expect(chain.run(finalize('1', { by: people.bob })).code).toBe(10);
  });

  test('looks at the state of the node at the height of the registration', () => {
    const chain = chainWithNode();
    const operator = { creator: people.operator, validatorAddress: people.operatorValoper };
    chain.run({ '@type': '/lumera.supernode.v1.MsgStopSupernode', ...operator, reason: '' });
    chain.run(request());
    chain.run({ '@type': '/lumera.supernode.v1.MsgStartSupernode', ...operator });
    expect(JSON.stringify(chain.run(finalize('1')).events)).toContain('action_finalization_rejected');
  });

  test.each([
    ['an unknown action', '9', 'action 9 not found: not found: invalid action state'],
    [
      'a finished action',
      '1',
      'action 1 cannot be finalized: current state ACTION_STATE_DONE is not one of pending or processing: invalid action state',
    ],
  ])('fails on %s', (_, id, log) => {
    const chain = chainWithNode();
    chain.run(request());
    chain.run(finalize('1'));
    expect(chain.run(finalize(id))).toMatchObject({
      code: 5,
      log: `failed to execute message; message index: 0: ${log}`,
    });
  });
});

describe('MsgApproveAction', () => {
  test('approves a finished action, with the events of a real chain', () => {
    const chain = chainWithNode();
    chain.run(request());
    chain.run(finalize('1'));
    expect(outline(chain.run(approve('1')).events)).toEqual(outline(recorded('txs/by_hash/approve-1').events));
    expect(chain.state.action('1')?.state).toBe('ACTION_STATE_APPROVED');
    expect(chain.run(approve('1')).log).toBe(recorded('txs/by_hash/failed-approve-twice-1').raw_log);
  });

  test('fails for anybody but the creator', () => {
    const chain = chainWithNode();
    chain.run(request());
    chain.run(finalize('1'));
    expect(chain.run(approve('1', people.bob))).toMatchObject({ code: 5 });
  });
});

describe('the end of a block', () => {
  test('lets what is due expire with refund, with the events of a real chain and no transaction', () => {
    const chain = chainWithNode();
    chain.run(request());
    expect(chain.expire(79).events).toEqual([]);
    const { events } = chain.expire(80);
    expect(outline(events)).toEqual(outline(expiry));
    expect(events.at(-1)?.attributes.at(-1)).toEqual({ key: 'mode', value: 'EndBlock' });
    expect(chain.balance(people.alice)).toBe(995_000n);
    expect(chain.state.action('1')?.state).toBe('ACTION_STATE_EXPIRED');
    expect(chain.expire(200).events).toEqual([]);
  });
});
