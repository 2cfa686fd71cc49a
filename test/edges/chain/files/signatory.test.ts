import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CascadeChain, createCascadeChain } from '../../../../src/edges/chain/files/chain.ts';
import { adr036SignBytes } from '../../../../src/edges/chain/files/signatures.ts';
import { accountOf, keyUrls, type PrivateKey, publicKeyOf, sign } from '../../../../src/edges/chain/sign/keys.ts';
import { checkSignature } from '../../../../src/edges/gateway/intake/checks.ts';
import { rememberingKeys } from '../../../../src/edges/gateway/intake/known-keys.ts';
import { type ChainClient, createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import { type ChainStub, startChainStub } from '../../../support/chains/chain-stub.ts';

const profile = { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' };
const limits = { timeLimitMs: 2_000, startMs: 0, averageMs: 0, repeatMs: 0 };
const privateKey: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(3) };
const own = publicKeyOf(privateKey);
const creator = accountOf(own);
const ethereum = publicKeyOf({ type: 'eth_secp256k1', bytes: new Uint8Array(32).fill(3) });
const appKey = publicKeyOf({ type: 'secp256k1', bytes: new Uint8Array(32).fill(5) });
const owner = 'osmo1rfjz7r3u8t65teavh5utquj3kwvsj983aaaaaa';

let stub: ChainStub;
let client: ChainClient;
let chain: CascadeChain;
beforeEach(async () => {
  stub = await startChainStub();
  client = createChainClient(stub.url, profile, limits);
  chain = createCascadeChain(client, { addressPrefix: 'lumera', signal: new AbortController().signal });
});
afterEach(async () => {
  await client.close();
  await stub.stop();
});

/** The chain's record of the account, around what tells its key. */
const base = (key: unknown) => ({ address: creator, pub_key: key, account_number: '1', sequence: '1' });
const cosmos = { '@type': keyUrls.secp256k1, key: own.key };
const vesting = (type: string, key: unknown = cosmos) => ({
  '@type': `/cosmos.vesting.v1beta1.${type}`,
  base_vesting_account: { base_account: base(key), original_vesting: [], end_time: '1' },
});
const interchain = {
  '@type': '/ibc.applications.interchain_accounts.v1.InterchainAccount',
  base_account: base(null),
  account_owner: owner,
};

function tellAccount(account: unknown, of = creator): void {
  stub.faults.instead = ({ pathname }, good) =>
    pathname === `/cosmos/auth/v1beta1/accounts/${of}` ? { status: 200, body: { account } } : good();
}

const asked = async (given?: string) => await chain.signatoryOf({ creator, appKey: given });

describe('who signs for a creator', () => {
  it.each([
    ['a plain account', { '@type': '/cosmos.auth.v1beta1.BaseAccount', ...base(cosmos) }],
    ['an account in an account', { '@type': '/cosmos.evm.types.v1.EthAccount', base_account: base(cosmos) }],
    ['vesting little by little', vesting('ContinuousVestingAccount')],
    ['vesting at an end', vesting('DelayedVestingAccount')],
    ['vesting in periods', vesting('PeriodicVestingAccount')],
    ['locked for ever', vesting('PermanentLockedAccount')],
  ])('is its key: %s', { tags: ['S3.signature.key'] }, async (_, account) => {
    tellAccount(account);
    expect(await asked()).toEqual({ ...own, signer: creator });
    // What a registration names counts for interchain accounts alone.
    expect(await asked(appKey.key)).toEqual({ ...own, signer: creator });
  });

  it.each([
    ['none has signed yet', base(null)],
    ['none has signed yet, vesting', vesting('DelayedVestingAccount', null)],
    ['many sign', base({ '@type': '/cosmos.crypto.multisig.LegacyAminoPubKey', threshold: 1, public_keys: [cosmos] })],
    ['of another curve', base({ '@type': '/cosmos.crypto.ed25519.PubKey', key: own.key })],
    ['no point of the curve', base({ '@type': keyUrls.secp256k1, key: 'AAAA' })],
    ['of another account', base({ '@type': keyUrls.secp256k1, key: appKey.key })],
    ['of another account of the same key', base({ '@type': keyUrls.eth_secp256k1, key: ethereum.key })],
    ['of a module', { name: 'action', permissions: [], base_account: base(null) }],
    ['no account', undefined],
  ])('is nobody: %s', { tags: ['S3.signature.key'] }, async (_, account) => {
    tellAccount(account);
    expect(await asked()).toBeUndefined();
    expect(await asked(appKey.key)).toBeUndefined();
  });

  it('is nobody where the chain has no account', { tags: ['S3.signature.key'] }, async () => {
    stub.faults.instead = () => ({ status: 404, body: { code: 5, message: 'account not found', details: [] } });
    expect(await asked()).toBeUndefined();
  });
});

describe('an interchain account', () => {
  const named = async (app_pubkey: unknown) => {
    const [id = ''] = stub.chain.register({ kind: 'CASCADE' });
    const record = { ...stub.chain.at(stub.chain.height).actions.get(id), creator, app_pubkey };
    stub.faults.instead = ({ pathname }, good) => {
      if (pathname.includes('/auth/v1beta1/accounts/')) return { status: 200, body: { account: interchain } };
      return pathname.endsWith(`get_action/${id}`) ? { status: 200, body: { action: record } } : good();
    };
    const action = await chain.action(id);
    if (!action) throw new Error('the chain does not tell the action');
    return async (key: PrivateKey, signed: Uint8Array | string) => {
      const signature = Buffer.from(sign(key, Buffer.from(signed)).subarray(0, 64)).toString('base64');
      const judging = { chain, settings: { signatures: 'any' } } as const;
      return await checkSignature(judging, action, { text: 'a text', signature });
    };
  };
  const appOwn: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(5) };
  const refused = { code: 'UNAUTHORIZED' };

  it('signs by the key of its registration, its owner as signer', { tags: ['S3.signature.interchain'] }, async () => {
    const judge = await named(appKey.key);
    await judge(appOwn, 'a text');
    await judge(appOwn, adr036SignBytes('a text', owner));
    await expect(judge(appOwn, adr036SignBytes('a text', accountOf(appKey)))).rejects.toMatchObject(refused);
    await expect(judge(appOwn, adr036SignBytes('another text', owner))).rejects.toMatchObject(refused);
    await expect(judge(privateKey, 'a text')).rejects.toMatchObject(refused);
    await expect(judge(privateKey, adr036SignBytes('a text', owner))).rejects.toMatchObject(refused);
  });

  it.each([null, '', 'AAAA', 7])(
    'signs nothing without a key in its registration: %j',
    { tags: ['S3.signature.interchain'] },
    async (key) => {
      const judge = await named(key);
      await expect(judge(appOwn, 'a text')).rejects.toMatchObject(refused);
    },
  );
});

describe('the key of an account', () => {
  it('is asked for once a minute at most', { tags: ['S3.signature.cached'] }, async () => {
    let now = 0;
    const remembering = rememberingKeys(chain, () => now);
    const ask = async () => await remembering.signatoryOf({ creator, appKey: undefined });
    const requests = () => stub.requests.filter((request) => request.includes('/auth/v1beta1/accounts/')).length;
    tellAccount(base(null));
    expect([await ask(), await ask(), requests()]).toEqual([undefined, undefined, 2]);
    tellAccount(base(cosmos));
    expect([(await ask())?.key, (await ask())?.key, requests()]).toEqual([own.key, own.key, 3]);
    now = 59_999;
    expect([(await ask())?.key, requests()]).toEqual([own.key, 3]);
    now = 60_000;
    tellAccount(base(null));
    expect([await ask(), requests()]).toEqual([undefined, 4]);
  });

  it('is of an account, and the creator of an action never remembered', { tags: ['S3.signature.cached'] }, async () => {
    const remembering = rememberingKeys(chain);
    tellAccount(base(cosmos));
    expect(await remembering.signatoryOf({ creator, appKey: undefined })).toBeDefined();
    tellAccount(base(null), accountOf(appKey));
    expect(await remembering.signatoryOf({ creator: accountOf(appKey), appKey: undefined })).toBeUndefined();
    const [id = ''] = stub.chain.register({ kind: 'CASCADE' });
    const creators = [accountOf(own), accountOf(appKey)];
    for (const now of creators) {
      const record = { ...stub.chain.at(stub.chain.height).actions.get(id), creator: now };
      stub.faults.instead = () => ({ status: 200, body: { action: record } });
      expect((await remembering.action(id))?.record.creator).toBe(now);
    }
  });
});
