// @ts-check
/** @import { ActionListing, PageProps, ReadState, WithHeaders } from '../answers.d.ts' */
import { html, useEffect } from '/assets/htm-preact.js';
import { evm, isPassing, read, useAnswer, whereRefused } from '../read.js';
import { asOf, go, link } from '../router.js';
import { Outcome, Sheet } from '../ui.js';

/** A page that a text may mean. @typedef {{ what: string, to: string }} Match */

/**
 * Whether answers exist; what is refused does not. Where none does, what failed for a moment fails here as well.
 *
 * @param {...Promise<unknown>} requests
 */
async function exist(...requests) {
  const settled = await Promise.allSettled(requests);
  const exists = settled.map((one) => one.status === 'fulfilled' && Boolean(one.value));
  const passing = settled.find((one) => one.status === 'rejected' && isPassing(one.reason));
  if (passing?.status === 'rejected' && !exists.includes(true)) throw passing.reason;
  return exists;
}

/**
 * The pages that a text may mean, by its form and by what exists.
 *
 * @param {string} text
 * @returns {Promise<readonly Match[]>}
 */
async function matchesOf(text) {
  const event = /^([a-z]+)[:/](\d+)$/i.exec(text);
  if (event)
    return [
      { what: `Event ${event[2]} of ${event[1]?.toUpperCase()}`, to: `/log/${event[1]?.toUpperCase()}/${event[2]}` },
    ];
  if (/^\d{1,20}$/.test(text)) return await ofNumber(text);
  if (/^0x[\da-f]{40}$/i.test(text))
    return [{ what: 'Address of the EVM', to: `/chain/addresses/${text.toLowerCase()}` }];
  if (/^(0x)?[\da-f]{64}$/i.test(text)) return (await Promise.all([ofHash(text), ofData(text)])).flat();
  if (/^[\w+/-]{43}=?$/.test(text)) return await ofData(text);
  if (/valoper1[a-z\d]{30,}$/i.test(text)) return [{ what: 'SuperNode', to: `/nodes/${text.toLowerCase()}` }];
  if (/^[a-z]+1[a-z\d]{30,}$/i.test(text)) return ofAccount(text.toLowerCase());
  return [];
}

/** @param {string} text */
async function ofNumber(text) {
  const [isAction, isBlock] = await exist(
    read(`/v1/actions/${text}`),
    evm('eth_getBlockByNumber', `0x${BigInt(text).toString(16)}`, false),
  );
  return [
    ...(isAction ? [{ what: `Action ${text}`, to: `/actions/${text}` }] : []),
    ...(isBlock ? [{ what: `Block ${text}`, to: `/chain/blocks/${text}` }] : []),
    ...(isAction || isBlock
      ? [{ what: `Actions registered at height ${text}`, to: `/actions?fromHeight=${text}&toHeight=${text}` }]
      : []),
  ];
}

/** @param {string} text */
async function ofHash(text) {
  const hash = `0x${text.replace(/^0x/i, '').toLowerCase()}`;
  const [transaction, block] = await Promise.all([
    evm('eth_getTransactionByHash', hash).catch(whereRefused(() => null)),
    evm('eth_getBlockByHash', hash, false).catch(whereRefused(() => null)),
  ]);
  if (transaction) return [{ what: 'Transaction of the EVM', to: `/chain/transactions/${hash}` }];
  if (block) return [{ what: `Block ${Number(block.number)}`, to: `/chain/blocks/${Number(block.number)}` }];
  const about = /** @type {any} */ ((await read('/about.json')).body);
  return about.chainUrl ? [{ what: 'Transaction of the chain', to: `/chain/transactions/${hash}` }] : [];
}

/** The actions whose data have a hash. @param {string} text */
async function ofData(text) {
  const listed = new URLSearchParams({ dataHash: text.replace(/^0x/i, '') });
  const { actions, total } = /** @type {ActionListing} */ ((await read(`/v1/actions?limit=1&${listed}`)).body);
  const [only] = actions;
  if (total === 1 && only)
    return [{ what: `Action ${only.id}, of the data with this hash`, to: `/actions/${only.id}` }];
  return total > 0 ? [{ what: `${total} actions of the data with this hash`, to: `/actions?${listed}` }] : [];
}

/** @param {string} address */
function ofAccount(address) {
  return [
    { what: 'Actions that the account registered', to: `/actions?creator=${address}` },
    { what: 'Actions that the account finalized', to: `/actions?supernode=${address}` },
  ];
}

/** The address with the instant that is shown. @param {string} to */
function withInstant(to) {
  const { pathname, searchParams } = new URL(to, location.origin);
  return link(pathname, Object.fromEntries(searchParams));
}

/**
 * What a text means, to choose from; a single page is about to open, so that no link of it goes away under a hand.
 *
 * @param {{ matches: readonly Match[] }} props
 */
function Matches({ matches }) {
  if (matches.length === 0)
    return html`<p>
      Nothing fits. An action has a number, a SuperNode an address with <span class="mono">valoper1</span>, a block a
      height or a hash, data the hash that an action has of them, an event its stream and sequence, as in
      <span class="mono">ACTIONS:1</span>.
    </p>`;
  if (matches.length === 1) return html`<p class="quiet" role="status">Opening ${matches[0]?.what} …</p>`;
  return html`<ul class="matches">
    ${matches.map(({ what, to }) => html`<li><a href=${withInstant(to)}>${what}</a></li>`)}
  </ul>`;
}

/** @param {PageProps} props */
export function Search({ query }) {
  const text = (query.get('q') ?? '').trim();
  const answer = /** @type {ReadState<readonly Match[]>} */ (
    useAnswer(
      `${text} ${asOf()}`,
      async () =>
        /** @type {WithHeaders<readonly Match[]>} */ ({ body: await matchesOf(text), headers: new Headers() }),
    )
  );
  const matches = answer.body;
  const only = matches?.length === 1 && !answer.isLoading ? matches[0] : undefined;
  useEffect(() => {
    if (only) go(withInstant(only.to), { replace: true });
  }, [only?.to]);
  return html`<article class="stack">
    <h1>Search</h1>
    <${Sheet} title=${text === '' ? 'Nothing was entered' : text} label="Matches">
      <${Outcome} of=${answer}>
        <${Matches} matches=${matches ?? []} />
      <//>
    <//>
  </article>`;
}
