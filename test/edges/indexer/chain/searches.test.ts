import { describe, expect, it, onTestFinished } from 'vitest';
import { createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import { searchContext, searchSteps } from '../../../../src/edges/chain/rest/searches.ts';
import { syncing } from '../../../support/chains/chain-stub-rounds.ts';

describe('searchSteps', () => {
  it('ends below the height at which it holds enough, so that the next round goes on there', async () => {
    const { chain, url, profile } = await syncing();
    for (let i = 0; i < 300; i++) {
      chain.register({});
      chain.block();
    }
    const client = createChainClient(url, profile);
    onTestFinished(() => client.close());
    const session = client.session(new AbortController().signal);
    const context = { ...searchContext(profile), mostHeld: 150 };
    const found = await searchSteps(session, { step: 'register', from: 1, to: chain.height }, context);
    expect(found).toMatchObject({ shownTo: 99 });
    const onwards = await searchSteps(session, { step: 'register', from: found.shownTo, to: chain.height }, context);
    expect(onwards.shownTo).toBe(197);
  });

  it('fails where more than can be held lies at one height', async () => {
    const { chain, url, profile } = await syncing();
    for (let i = 0; i < 130; i++) chain.register({});
    const client = createChainClient(url, profile);
    onTestFinished(() => client.close());
    const session = client.session(new AbortController().signal);
    const context = { ...searchContext(profile), mostHeld: 100 };
    const searching = searchSteps(session, { step: 'register', from: 1, to: chain.height }, context);
    await expect(searching).rejects.toMatchObject({ reason: 'bad_answer' });
  });
});
