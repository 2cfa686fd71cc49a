import { describe, expect, it } from 'vitest';
import { type Dial, SocketBudget, withSockets } from '../../../../src/edges/indexer/probe/dial.ts';

const options = { connectMs: 1, signal: new AbortController().signal };
const refused: Dial = async () => ({ outcome: 'refused' });

describe('withSockets', () => {
  it('never has more in use than there are, serves in turn, and gives all back, failures included', async () => {
    const budget = new SocketBudget(7);
    let inUse = 0;
    let most = 0;
    const dial: Dial = async () => {
      most = Math.max(most, ++inUse);
      await new Promise(setImmediate);
      inUse -= 1;
      return { outcome: 'refused' };
    };
    const order: number[] = [];
    const work = (n: number) => async (within: Dial) => {
      order.push(n);
      await Promise.all([1, 2, 3].map((port) => within('1.1.1.1', port, options)));
      if (n % 3 === 0) throw new Error('enough');
    };
    const sockets = { count: 3, asked: 3, dial };
    await Promise.allSettled(Array.from({ length: 50 }, (_, n) => withSockets(budget, sockets, work(n))));
    expect(most).toBeLessThanOrEqual(7);
    expect(order).toEqual(Array.from({ length: 50 }, (_, n) => n));
    await budget.take(7);
  });

  it('keeps one socket of a node that does not answer, so that others can begin', async () => {
    const budget = new SocketBudget(5);
    const answered = Promise.withResolvers<void>();
    const slow = withSockets(budget, { count: 3, asked: 8002, dial: refused }, async (within) => {
      await Promise.all([4444, 4445].map((port) => within('1.1.1.1', port, options)));
      await answered.promise;
    });
    await budget.take(4);
    answered.resolve();
    await slow;
    await budget.take(1);
  });
});
