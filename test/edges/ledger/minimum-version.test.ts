import { expect, it } from 'vitest';
import { minimumVersionOf } from '../../../src/edges/chain/rest/records.ts';
import { ask, freshLog, startLedger } from './ledger-under-test.ts';

it('the local chain asks for no newer SuperNode than any', { tags: ['S1.status.version'] }, async () => {
  await using fresh = await freshLog();
  await using ledger = await startLedger(fresh.log);
  const { body } = await ask(ledger, '/LumeraProtocol/lumera/supernode/v1/params');
  expect(minimumVersionOf(body)).toBe('0.0.0');
});
