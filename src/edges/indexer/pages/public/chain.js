import { html } from '/assets/htm-preact.js';
import { age, number } from '/assets/format.js';

/** Transactions by their blocks, latest first. */
function blocksOf(transactions) {
  const blocks = new Map();
  for (const one of transactions) blocks.set(one.height, [...(blocks.get(one.height) ?? []), one]);
  return [...blocks].slice(0, 10);
}

/** The latest blocks with transactions. */
export function Blocks({ chain, chainUrl }) {
  return html`<section class="sheet">
    <h2>Latest blocks <small>height ${number(chain.height)}; those with transactions</small></h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>height</th>
            <th class="number">sealed</th>
            <th class="number">transactions</th>
            <th>of</th>
          </tr>
        </thead>
        <tbody>
          ${blocksOf(chain.transactions).map(
            ([height, transactions]) =>
              html`<tr>
                <td><a href=${`${chainUrl}/cosmos/base/tendermint/v1beta1/blocks/${height}`}>${height}</a></td>
                <td class="number">${age(transactions[0].time)}</td>
                <td class="number">${transactions.length}</td>
                <td>${[...new Set(transactions.map(kindOf))].join(', ')}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

const kindOf = ({ message }) => (message === 'MsgEthereumTx' ? 'EVM' : message.replace(/^Msg/, ''));

/** The latest transactions of either kind. */
export function Transactions({ chain, chainUrl }) {
  return html`<section class="sheet">
    <h2>
      Latest transactions
      <small
        >EVM and the chain’s own · <a href=${`${chainUrl}/cosmos/tx/v1beta1/txs?query=tx.height>=1`}>JSON</a></small
      >
    </h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>hash</th>
            <th>kind</th>
            <th class="number">block</th>
            <th class="number">sealed</th>
            <th>outcome</th>
          </tr>
        </thead>
        <tbody>
          ${chain.transactions.slice(0, 10).map(
            (one) =>
              html`<tr>
                <td class="mono">
                  <a href=${`${chainUrl}/cosmos/tx/v1beta1/txs/${one.hash}`}>${one.hash.slice(0, 10)}…</a>
                </td>
                <td>${kindOf(one)}</td>
                <td class="number">${one.height}</td>
                <td class="number">${age(one.time)}</td>
                <td class=${one.failure === null ? 'good' : 'bad'} title=${one.failure ?? ''}>
                  ${one.failure === null ? 'done' : 'failed'}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
