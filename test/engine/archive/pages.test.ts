import { expect, test } from 'vitest';
import { randomHistory } from '../../support/histories/random-history.ts';
import { appendFacts } from '../log/fresh-log.ts';
import { keptLog, untilArchived } from './kept.ts';

test('a page of the archive is bounded by bytes, and says where the archive ends', async () => {
  const kept = await keptLog();
  await appendFacts(kept.log, randomHistory(5, { actions: 10 }));
  const { stop } = kept.start();
  await untilArchived(kept, 'ACTIONS');
  await stop();
  const { store } = kept;
  const { links } = await store.read('ACTIONS', 0, 9);
  const large = links.map((link) => ({ ...link, body: Buffer.alloc(5 * 1024 * 1024, link.sequence) }));
  await store.replace('ACTIONS', large);
  const pages: number[][] = [];
  for (let [after, isEnd] = [0, false]; !isEnd;) {
    const page = await store.read('ACTIONS', after, 1000);
    pages.push(page.links.map(({ sequence }) => sequence));
    [after, isEnd] = [page.links.at(-1)?.sequence ?? 0, page.isEnd];
  }
  expect(pages.slice(0, 2)).toEqual([
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
  expect(pages.flat()).toHaveLength(await store.count('ACTIONS'));
  expect((await store.read('ACTIONS', pages.flat().length, 1000)).isEnd).toBe(true);
});
