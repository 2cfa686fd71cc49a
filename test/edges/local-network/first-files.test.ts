import { afterEach, describe, expect, it } from 'vitest';
import { firstFiles, storeFirstFiles } from '../../../src/edges/local-network/first-files.ts';
import { loadProfile } from '../../../src/edges/chain/rest/profile.ts';
import { ask, silent } from '../ledger/ledger-under-test.ts';
import { downloaded } from '../node/files-under-test.ts';
import { networkUnderTest } from '../node/network-under-test.ts';

const undo = new AsyncDisposableStack();
afterEach(() => undo.disposeAsync());

describe('storeFirstFiles', () => {
  it(
    'stores each file once, through a node that runs, however often it is called',
    { tags: ['S1.local.files'] },
    async () => {
      const { ledger, cast, start } = await networkUnderTest(undo, 3);
      const running = cast.slice(0, 2);
      const [, second] = await Promise.all(running.map((node) => start(node)));
      const options = {
        chainUrl: ledger.url,
        profile: loadProfile('local'),
        logger: silent,
        signal: new AbortController().signal,
        afterMs: 0,
      };
      for (const _ of [1, 2]) await storeFirstFiles(options);
      const { body } = await ask(ledger, '/LumeraProtocol/lumera/action/v1/list_actions');
      const { actions } = body as { actions: { actionID: string; state: string }[] };
      expect(actions.map(({ state }) => state)).toEqual(firstFiles.map(() => 'ACTION_STATE_DONE'));
      const given = await Promise.all(actions.map(({ actionID }) => downloaded(second?.grpc ?? '', actionID)));
      expect(given.map(({ bytes }) => bytes.toString()).toSorted()).toEqual(
        firstFiles.map(({ text }) => text).toSorted(),
      );
    },
  );

  it('ends with its signal while the chain is out of reach', async () => {
    const ending = new AbortController();
    const profile = loadProfile('local');
    const storing = storeFirstFiles({
      chainUrl: 'http://127.0.0.1:1',
      profile,
      logger: silent,
      signal: ending.signal,
      afterMs: 0,
    });
    ending.abort();
    await storing;
  });
});
