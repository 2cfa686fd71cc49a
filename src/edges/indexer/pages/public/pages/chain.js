// @ts-check
/** @import { AboutAnswer, ChainAnswer, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { coins, number, start } from '../format.js';
import { evmPath, useRead } from '../read.js';
import { link } from '../router.js';
import { Facts, HashLink, Json, Outcome, Sheet, State, Table, Time } from '../ui.js';

const gasPriceDecimals = 9;
export const coinDecimals = 18;

/** @param {{ message: string }} transaction */
const kindOf = ({ message }) => (message === 'MsgEthereumTx' ? 'EVM' : message.replace(/^Msg/, ''));

/** The latest blocks with transactions. @param {{ chain: ChainAnswer | undefined }} props */
export function BlockTable({ chain }) {
  const heights = [...new Set((chain?.transactions ?? []).map(({ height }) => height))].slice(0, 12);
  const of = (/** @type {number} */ height) => (chain?.transactions ?? []).filter((one) => one.height === height);
  return html`<${Table}
    label="Blocks with transactions"
    head=${['height', { name: 'sealed', isNumber: true }, { name: 'transactions', isNumber: true }, 'kinds']}
    rows=${heights.map((height) => [
      html`<a href=${link(`/chain/blocks/${height}`)}>${height}</a>`,
      html`<${Time} at=${of(height)[0]?.time} />`,
      of(height).length,
      [...new Set(of(height).map(kindOf))].join(', '),
    ])}
  />`;
}

/** @param {{ transactions: ChainAnswer['transactions'] }} props */
function TransactionTable({ transactions }) {
  return html`<${Table}
    label="Transactions"
    head=${['hash', 'kind', { name: 'block', isNumber: true }, { name: 'sealed', isNumber: true }, 'outcome']}
    rows=${transactions.map((one) => [
      html`<${HashLink} hash=${one.hash} />`,
      kindOf(one),
      html`<a href=${link(`/chain/blocks/${one.height}`)}>${one.height}</a>`,
      html`<${Time} at=${one.time} />`,
      html`<span title=${one.failure ?? ''}><${State} word=${one.failure === null ? 'done' : 'failed'} /></span>`,
    ])}
  />`;
}

/** What pages of the chain show where there is none. */
export function NoChain() {
  return html`<p>Only the local network’s chain is shown here; on another network, its own explorers show it.</p>`;
}

export function Chain() {
  const about = /** @type {ReadState<AboutAnswer>} */ (useRead('/about.json')).body;
  const chain = /** @type {ReadState<ChainAnswer>} */ (
    useRead(about?.chainUrl ? '/chain.json' : null, { follow: true })
  );
  return html`<article class="stack">
    <h1>Chain</h1>
    ${
      about && !about.chainUrl
        ? html`<${NoChain} />`
        : html`<div class="columns">
              <${Sheet} title="Latest blocks" note=${`height ${number(chain.body?.height)}; those with transactions`}>
                <${Outcome} of=${chain}><${BlockTable} chain=${chain.body} /><//>
              <//>
              <${Sheet} title="Latest transactions" note="EVM and the chain’s own">
                <${Outcome} of=${chain}><${TransactionTable} transactions=${chain.body?.transactions ?? []} /><//>
              <//>
            </div>
            <${Json} paths=${['/chain.json', evmPath('eth_blockNumber')]} />`
    }
  </article>`;
}

/** @param {PageProps} props */
export function Block({ parts: { number: height = '' } }) {
  const isHeight = /^\d{1,15}$/.test(height);
  const path = evmPath('eth_getBlockByNumber', `0x${Number(isHeight ? height : 0).toString(16)}`, true);
  const answer = /** @type {ReadState<any>} */ (useRead(isHeight ? path : null, { follow: true }));
  const own = /** @type {ReadState<any>} */ (useRead(isHeight ? `/transactions.json?height=${height}` : null)).body;
  const block = answer.body?.result;
  if (!isHeight)
    return html`<article class="stack">
      <h1>Block ${height}</h1>
      <p role="alert">A block has a height, such as 1.</p>
    </article>`;
  return html`<article class="stack">
    <h1>Block ${height}</h1>
    <${Outcome} of=${answer}>
      ${block ? html`<${BlockSheets} block=${block} own=${own?.tx_responses ?? []} />` : html`<p>There is no such block yet.</p>`}
    <//>
    <${Json} paths=${[path]} />
  </article>`;
}

/** @param {{ block: any, own: readonly any[] }} props */
function BlockSheets({ block, own }) {
  const at = Number(block.number);
  const time = new Date(Number(block.timestamp) * 1000).toISOString();
  const ofChain = own.filter(({ tx }) => tx.body.messages[0]?.['@type'] !== '/cosmos.evm.vm.v1.MsgEthereumTx');
  return html`<div class="stack">
    <p class="pager">
      ${at > 0 ? html`<a rel="prev" href=${link(`/chain/blocks/${at - 1}`)}>Block ${at - 1}</a>` : ''}
      <a rel="next" href=${link(`/chain/blocks/${at + 1}`)}>Block ${at + 1}</a>
    </p>
    <${Sheet} title="Header">
      <${Facts}
        of=${[
          ['hash', html`<span class="mono long">${block.hash}</span>`],
          ['sealed', html`<${Time} at=${time} isFull=${true} />`],
          ['parent', html`<span class="mono long">${block.parentHash}</span>`],
          ['gas', `${number(Number(block.gasUsed))} of ${number(Number(block.gasLimit))}`],
          ['base fee', `${coins(block.baseFeePerGas ?? '0', gasPriceDecimals)} gwei`],
          ['state root', html`<span class="mono long">${block.stateRoot}</span>`],
          ['proposer', html`<a class="mono long" href=${link(`/chain/addresses/${block.miner}`)}>${block.miner}</a>`],
        ]}
      />
    <//>
    <${Sheet} title="Transactions of the EVM">
      <${Table}
        label="Transactions of the EVM"
        head=${['hash', 'from', 'to', { name: 'value', isNumber: true }]}
        rows=${block.transactions.map((/** @type {any} */ one) => [
          html`<a class="mono" href=${link(`/chain/transactions/${one.hash}`)}>${start(one.hash)}</a>`,
          html`<a class="mono" href=${link(`/chain/addresses/${one.from}`)}>${start(one.from)}</a>`,
          one.to
            ? html`<a class="mono" href=${link(`/chain/addresses/${one.to}`)}>${start(one.to)}</a>`
            : 'new contract',
          `${coins(one.value, coinDecimals)} LUME`,
        ])}
      />
    <//>
    ${
      ofChain.length > 0
        ? html`<${Sheet} title="The chain’s own transactions">
            <${Table}
              label="The chain’s own transactions"
              head=${['hash', 'message', 'outcome']}
              rows=${ofChain.map(({ txhash, code, tx }) => [
                html`<a class="mono" href=${link(`/chain/transactions/0x${txhash.toLowerCase()}`)}
                  >${start(txhash)}</a
                >`,
                tx.body.messages.map((/** @type {any} */ one) => one['@type'].split('.').at(-1)).join(', '),
                html`<${State} word=${code === 0 ? 'done' : 'failed'} />`,
              ])}
            />
          <//>`
        : ''
    }
  </div>`;
}
