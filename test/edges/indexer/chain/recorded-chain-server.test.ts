import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RecordedChain, startRecordedChain } from '../../../support/chains/recorded-chain.ts';
import { readAnswers, type RecordedAnswer } from '../../../support/chains/recorded-chain/records.ts';

let chain: RecordedChain;
beforeAll(async () => void (chain = await startRecordedChain()));
afterAll(() => chain.close());

const answers = readAnswers();
const lastStep = 24;
const action = '/LumeraProtocol/lumera/action/v1/';
const txs = '/cosmos/tx/v1beta1/txs';

type Got = Readonly<{ status: number; height: string | null; body: unknown }>;

async function get(
  path: string,
  { headers = {}, method = 'GET' }: Pick<RecordedAnswer, 'headers' | 'method'> = {},
): Promise<Got> {
  const response = await fetch(chain.url + path, { headers, method, redirect: 'manual' });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  const height = response.headers.get('grpc-metadata-x-cosmos-block-height');
  return { status: response.status, height, body: isJson ? JSON.parse(text) : text };
}

/**
 * Compares with a recording; the last step was recorded over several heights, so there the header only has to be as
 * present as it was.
 */
async function compare(recorded: RecordedAnswer): Promise<void> {
  const { step, path, status, height, sha256, body } = recorded;
  const got = await get(path, recorded);
  const isExact = step < lastStep || recorded.headers?.['x-cosmos-block-height'] !== undefined;
  const told = isExact && height !== '683' ? got.height : got.height && height;
  expect({ path, status: got.status, height: told }).toEqual({ path, status, height });
  if (sha256 === undefined) expect(got.body).toEqual(body);
  else expect({ path, sha256: hash('sha256', JSON.stringify(got.body)) }).toEqual({ path, sha256 });
}

describe('startRecordedChain', () => {
  it('stands at each step where the real chain stood', async () => {
    for (const { step, height, time } of chain.steps) {
      chain.goTo(step);
      const { body } = await get('/cosmos/base/tendermint/v1beta1/blocks/latest');
      expect(body).toMatchObject({ block: { header: { height: String(height), time, chain_id: 'lumera-devnet-1' } } });
    }
    expect(chain.steps).toHaveLength(lastStep);
  });

  it.each(Array.from({ length: lastStep }, (_, index) => index + 1))('answers at step %i as recorded', async (step) => {
    chain.goTo(step);
    const mine = answers.filter((one) => one.step === step);
    expect(mine.length).toBeGreaterThan(5);
    for (const recorded of mine) await compare(recorded);
  });

  it('finds transactions from a height on, up to the head only', async () => {
    const total = async (query: string) => (await get(`${txs}?query=${encodeURIComponent(query)}`)).body;
    chain.goTo(6);
    expect(await total('action_registered.action_id EXISTS AND tx.height>=1')).toMatchObject({ total: '10' });
    expect(await total('action_finalized.action_id EXISTS AND tx.height>=39')).toMatchObject({ total: '4' });
    expect(await total('action_finalized.action_id EXISTS AND tx.height<=38')).toMatchObject({
      total: '0',
      tx_responses: [],
    });
    chain.goTo(lastStep);
    expect(await total('action_finalized.action_id EXISTS AND tx.height>=1')).toMatchObject({ total: '46' });
  });

  it('shows lists at the height of an earlier step, and refuses heights between', async () => {
    chain.goTo(lastStep);
    const at = (height: number) =>
      get('/cosmos/staking/v1beta1/validators', { headers: { 'x-cosmos-block-height': String(height) } });
    expect(await at(32)).toMatchObject({
      status: 200,
      height: '32',
      body: { validators: [{}], pagination: { total: '1' } },
    });
    expect(await at(33)).toMatchObject({
      status: 500,
      height: null,
      body: { code: 2, message: expect.stringContaining('at height 33') },
    });
  });

  it('shows an action at its registration where that was recorded before anything happened to it', async () => {
    chain.goTo(lastStep);
    const at = (id: number, height: number) =>
      get(`${action}get_action/${id}`, { headers: { 'x-cosmos-block-height': String(height) } });
    expect(await at(2, 38)).toMatchObject({
      status: 200,
      height: '38',
      body: { action: { actionID: '2', state: 'ACTION_STATE_PENDING' } },
    });
    expect(await at(18, 67)).toMatchObject({ status: 500, body: { message: expect.stringContaining('pruned') } });
    expect(await at(18, 66)).toMatchObject({ status: 404, height: '66' });
  });

  it('forgets what lies below the lowest height', async () => {
    chain.goTo(lastStep);
    chain.prune(50);
    const lost = { status: 500, body: { code: 13, message: 'height 37 is not available, lowest height is 50' } };
    expect(await get(`${txs}?query=action_registered.action_id%3D1`)).toMatchObject(lost);
    expect(await get(`${txs}?query=action_registered.action_id%3D71`)).toMatchObject({
      status: 200,
      body: { total: '1' },
    });
    expect(await get(`${action}get_action/1`)).toMatchObject({ status: 200 });
    chain.prune(1);
  });

  it('tells what it was asked', async () => {
    const before = chain.requests.length;
    await get(`${action}get_action/1`);
    expect(chain.requests.slice(before)).toEqual([`${action}get_action/1`]);
  });
});
