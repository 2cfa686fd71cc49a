import { fromJson, toBinary } from '@bufbuild/protobuf';
import { base64 } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dataHashOf,
  dataHashOfMessage,
  decodeMetadata,
  parseAction,
  parseSuperNode,
} from '../../../../src/edges/chain/rest/records.ts';
import { CascadeMetadataSchema } from '../../../../src/edges/gen/chain/action/v1/metadata_pb.ts';
import { loadProfile, moduleAccount } from '../../../../src/edges/chain/rest/profile.ts';
import { parseTransaction } from '../../../../src/edges/chain/rest/transactions.ts';
import { accountOf, operatorOf } from '../../../support/chains/chain-stub-state.ts';

const cascade = 'CixaRGV6ckRoR1VUUC90anQxSnpxTnRVakZXRVpkZWRzRC9UV2NiTlc5bllVPRIFYS50eHQYBiAyMg1iR0Y1YjNWMC5jMmxuOAE=';
const action = {
  creator: accountOf('alice'),
  actionID: '7',
  actionType: 'ACTION_TYPE_CASCADE',
  metadata: cascade,
  price: '10090ulume',
  expirationTime: '1767225600',
  state: 'ACTION_STATE_DONE',
  blockHeight: '4812',
  superNodes: [accountOf('node')],
  fileSizeKbs: '9',
  app_pubkey: null,
};

describe('parseAction', () => {
  const parse = (changes: object): ReturnType<typeof parseAction> => parseAction({ ...action, ...changes }, 'lumera');

  it('reads a record as the chain writes it', () => {
    expect(parse({})).toEqual({
      kind: 'cascade',
      creator: accountOf('alice'),
      height: 4812,
      price: { denom: 'ulume', amount: '10090' },
      fileSizeKbs: 9,
      metadata: cascade,
      dataHash: 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=',
      chainState: 'done',
      expiresAt: '2026-01-01T00:00:00Z',
      accounts: [accountOf('node')],
    });
  });

  it('takes what older and odd chains write', () => {
    expect(parse({ price: { denom: 'ulume', amount: '5' } }).price).toEqual({ denom: 'ulume', amount: '5' });
    expect(parse({ state: 7, actionType: 1, metadata: null })).toMatchObject({
      chainState: 'expired',
      kind: 'sense',
      metadata: '',
      dataHash: '',
    });
    expect(parse({ expirationTime: '9223372036854775807' }).expiresAt).toBeUndefined();
    expect(parse({ fileSizeKbs: '18446744073709551615' }).fileSizeKbs).toBe(4_294_967_295);
    expect(parse({ price: '', superNodes: null, blockHeight: '0' })).toMatchObject({
      price: undefined,
      accounts: [],
      height: undefined,
    });
  });

  it.each([
    ['creator', 'lumera1nonsense'],
    ['creator', accountOf('alice').toUpperCase()],
    ['creator', operatorOf('alice')],
    ['actionType', 'ACTION_TYPE_UNSPECIFIED'],
    ['actionType', 0],
    ['metadata', '%%%'],
    ['metadata', 7],
    ['price', 'free'],
    ['price', '1a,2b'],
    ['price', { denom: 'ulume' }],
    ['state', 'ACTION_STATE_UNSPECIFIED'],
    ['state', 8],
    ['blockHeight', '-1'],
    ['blockHeight', '4294967296'],
    ['superNodes', 'none'],
    ['superNodes', ['nobody']],
    ['expirationTime', 'tomorrow'],
    ['fileSizeKbs', '-5'],
  ])('refuses %s of %j', (field, value) => {
    expect(() => parse({ [field]: value })).toThrow(expect.objectContaining({ name: 'BadRecord' }));
  });
});

describe('parseSuperNode', () => {
  it('counts an account that its history leaves out from the last entry on', () => {
    const node = {
      states: [{ state: 'SUPERNODE_STATE_STORAGE_FULL', height: '8', reason: '' }],
      supernode_account: accountOf('new'),
      prev_supernode_accounts: [{ account: accountOf('old'), height: '3' }],
    };
    expect(parseSuperNode(node, 'lumera')).toMatchObject({
      state: 'storage_full',
      address: '',
      accounts: [
        { account: accountOf('old'), height: 3 },
        { account: accountOf('new'), height: 3 },
      ],
    });
    expect(parseSuperNode({ ...node, prev_supernode_accounts: null }, 'lumera').accounts).toEqual([
      { account: accountOf('new'), height: 8 },
    ]);
    expect(() => parseSuperNode({ ...node, states: [] }, 'lumera')).toThrow('states is empty');
  });
});

describe('decodeMetadata', () => {
  it('has the chain’s field names', () => {
    expect(decodeMetadata('cascade', cascade)).toEqual({
      data_hash: 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=',
      file_name: 'a.txt',
      rq_ids_ic: '6',
      rq_ids_max: '50',
      signatures: 'bGF5b3V0.c2ln',
      public: true,
    });
    expect(decodeMetadata('cascade', 'CgFo')?.['data_hash']).toBe('h');
  });

  it('leaves out no field that the chain has', { tags: ['LS-06'] }, () => {
    const whole = {
      data_hash: 'h',
      availability_commitment: { commitment_type: 'c', chunk_size: 4, total_size: '1500000', root: 'AAE=' },
      chunk_proofs: [{ chunk_index: 1, leaf_hash: 'AAE=', path_hashes: ['AAE='], path_directions: [true, false] }],
      index_artifact_count: 2,
      symbol_artifact_count: 3,
    };
    const message = fromJson(CascadeMetadataSchema, whole);
    const metadata = base64.encode(toBinary(CascadeMetadataSchema, message));
    expect(decodeMetadata('cascade', metadata)).toEqual(whole);
    expect(parseAction({ ...action, fileSizeKbs: '1466' }, 'lumera').fileSizeKbs).toBe(1_466);
  });

  it('is undefined for what is no metadata', () => {
    expect(decodeMetadata('cascade', '')).toBeUndefined();
    expect(decodeMetadata('sense', '/////w==')).toBeUndefined();
    expect(dataHashOf('sense', '/////w==')).toBe('');
    expect(dataHashOfMessage({ metadata: '{"data_hash":"h"}' })).toBe('h');
    expect(dataHashOfMessage({ metadata: '{broken' })).toBe('');
    expect(dataHashOfMessage({ raw: '0x02' })).toBe('');
  });
});

describe('moduleAccount', () => {
  it('is the account that holds the price of actions', () => {
    const { actionModule, addressPrefix } = loadProfile('main');
    expect(moduleAccount(actionModule, addressPrefix)).toBe('lumera1hkfcc6y0fxmhcl79xlrtjg3w9jt7hhwk96zj4h');
  });

  it('comes of the profile of main where a network has none of its own', () => {
    expect(loadProfile('nowhere')).toEqual(loadProfile('main'));
  });
});

describe('parseTransaction', () => {
  const module = moduleAccount('action', 'lumera');
  const context = { account: module, prefix: 'lumera' };
  const event = (type: string, attributes: Record<string, string>): object => ({
    type,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value, index: true })),
  });
  const paid = (recipient: string, amount: string, more: Record<string, string> = {}): object =>
    event('transfer', { recipient, sender: module, amount, ...more });
  const finalized = (id: string, more: Record<string, string> = {}): object =>
    event('action_finalized', { action_id: id, supernodes: accountOf('node'), ...more });
  const read = (events: object[], changes: object = {}): ReturnType<typeof parseTransaction> =>
    parseTransaction(
      { txhash: 'ab'.repeat(32), height: '9', code: 0, timestamp: '2026-01-02T03:04:05.9Z', events, ...changes },
      context,
    );

  it(
    'tells actions of one message apart by the order of events, and of several by msg_index',
    { tags: ['LS-04'] },
    () => {
      const [a, b, c] = [accountOf('a'), accountOf('b'), accountOf('c')];
      const inOne = { msg_index: '0' };
      const { steps } = read([
        finalized('1', inOne),
        paid(a, '5ulume', inOne),
        finalized('2', inOne),
        paid(b, '6ulume', inOne),
        paid(c, '7ulume', { msg_index: '1' }),
        finalized('3', { msg_index: '1' }),
      ]);
      expect(steps.map(({ action: id, payments }) => [id, payments.map(({ account }) => account)])).toEqual([
        ['1', [a]],
        ['2', [b]],
        ['3', [c]],
      ]);
      expect(steps[0]?.transaction).toEqual({ hash: 'AB'.repeat(32), height: 9, time: '2026-01-02T03:04:05Z' });
    },
  );

  it('tells a payment again where the transaction paid the account in that denomination for an action before', () => {
    const [a, b] = [accountOf('a'), accountOf('b')];
    const { steps } = read(
      ['0', '1', '2'].flatMap((msg_index) => [
        finalized(String(Number(msg_index) + 1), { msg_index }),
        ...(msg_index === '1' ? [paid(a, 'much', { msg_index })] : []),
        ...(msg_index === '2' ? [paid(b, '3ulume', { msg_index })] : []),
        paid(a, '1ulume,2ulume', { msg_index }),
        paid(a, msg_index === '0' ? '1uother' : '', { msg_index }),
      ]),
    );
    expect(steps.map(({ payments }) => payments.map((one) => [one.denom, one.account === a, one.again]))).toEqual([
      [
        ['ulume', true, undefined],
        ['ulume', true, undefined],
        ['uother', true, undefined],
      ],
      [
        ['ulume', false, undefined],
        ['ulume', true, true],
        ['ulume', true, true],
      ],
    ]);
  });

  it('takes amounts of any size and number of coins, from the module alone', () => {
    const big = '123456789012345678901234567890';
    const others = event('transfer', { recipient: accountOf('a'), sender: accountOf('b'), amount: '1ulume' });
    const { steps } = read([
      finalized('1'),
      others,
      paid(accountOf('a'), `${big}ulume,7ibc/27394FB0`),
      paid(accountOf('a'), ''),
    ]);
    expect(steps[0]?.payments).toEqual([
      { account: accountOf('a'), denom: 'ulume', amount: big },
      { account: accountOf('a'), denom: 'ibc/27394FB0', amount: '7' },
    ]);
  });

  it('leaves out failed transactions, tells unreadable parts by their action, and refuses what has no hash', () => {
    expect(read([finalized('1')], { code: 5 }).steps).toEqual([]);
    expect(read([finalized('1'), paid(accountOf('a'), 'much')])).toMatchObject({
      steps: [],
      unread: [{ action: '1' }],
    });
    expect(read([finalized('1')], { timestamp: 'long ago' }).steps[0]?.transaction).not.toHaveProperty('time');
    expect(() => read([], { txhash: 'x' })).toThrow('txhash is no hash');
  });
});

describe('every parser', () => {
  it('refuses whatever comes with a reason, and never breaks otherwise', () => {
    const fields = fc.constantFrom(
      'actionID',
      'metadata',
      'price',
      'state',
      'states',
      'events',
      'txhash',
      'superNodes',
      'height',
    );
    const anything = fc.dictionary(fields, fc.jsonValue({ maxDepth: 4 }));
    const parsers = [
      (value: object) => parseAction({ ...action, ...value }, 'lumera'),
      (value: object) => parseSuperNode({ supernode_account: accountOf('a'), ...value }, 'lumera'),
      (value: object) =>
        parseTransaction(
          { code: 0, height: '1', txhash: 'ab'.repeat(32), ...value },
          { account: 'm', prefix: 'lumera' },
        ),
    ];
    fc.assert(
      fc.property(anything, fc.constantFrom(...parsers), (value, parse) => {
        try {
          expect(JSON.stringify(parse(value))).not.toContain('\\u0000');
        } catch (caught) {
          expect(caught).toMatchObject({ name: 'BadRecord' });
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
