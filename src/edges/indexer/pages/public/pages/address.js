// @ts-check
/** @import { WithHeaders, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { coins, number, start } from '../format.js';
import { evm, evmPath, useAnswer } from '../read.js';
import { link } from '../router.js';
import { Code, Facts, Json, Outcome, Sheet, Table, Time } from '../ui.js';
import { coinDecimals } from './chain.js';

const systemContracts = /** @type {Record<string, string>} */ ({
  '0x0000000000000000000000000000000000000901': 'system contract of actions',
  '0x0000000000000000000000000000000000000902': 'system contract of SuperNodes',
});
const mostTransactions = 25;

/** @typedef {{ balance: string, code: string, nonce: string, transactions: readonly any[] | undefined }} Known */

/** @param {string} address @returns {Promise<WithHeaders<Known>>} */
async function readAddress(address) {
  const [balance, code, nonce, found] = await Promise.all([
    evm('eth_getBalance', address, 'latest'),
    evm('eth_getCode', address, 'latest'),
    evm('eth_getTransactionCount', address, 'latest'),
    evm('ots_searchTransactionsBefore', address, 0, mostTransactions).catch(() => undefined),
  ]);
  return { body: { balance, code, nonce, transactions: found?.txs }, headers: new Headers() };
}

/** @param {PageProps} props */
export function Address({ parts: { address = '' } }) {
  const answer = /** @type {ReadState<Known>} */ (useAnswer(address, () => readAddress(address), { follow: true }));
  const known = answer.body;
  const isContract = known && known.code !== '0x';
  return html`<article class="stack">
    <h1>Address <span class="mono long">${address}</span></h1>
    <${Outcome} of=${answer}>
      ${
        known
          ? html`<${Sheet} title=${systemContracts[address] ?? (isContract ? 'Contract' : 'Account')}>
                <${Facts}
                  of=${[
                    ['balance', `${coins(known.balance, coinDecimals)} LUME`],
                    ['transactions sent', number(Number(known.nonce))],
                    isContract && ['code', `${number((known.code.length - 2) / 2)} bytes`],
                  ]}
                />
              <//>
              ${known.transactions ? html`<${Sheet} title="Latest transactions"><${Transactions} of=${known.transactions} /><//>` : ''}
              ${isContract ? html`<${Sheet} title="Code"><${Code} value=${known.code} label="Code" /><//>` : ''}`
          : ''
      }
    <//>
    <${Json} paths=${[evmPath('eth_getBalance', address, 'latest'), evmPath('eth_getCode', address, 'latest')]} />
  </article>`;
}

/** @param {{ of: readonly any[] }} props */
function Transactions({ of }) {
  return html`<${Table}
    label="Transactions"
    head=${['hash', 'block', { name: 'sealed', isNumber: true }, 'from', 'to', { name: 'value', isNumber: true }]}
    rows=${of.map((one) => [
      html`<a class="mono" href=${link(`/chain/transactions/${one.hash}`)}>${start(one.hash)}</a>`,
      html`<a href=${link(`/chain/blocks/${Number(one.blockNumber)}`)}>${Number(one.blockNumber)}</a>`,
      html`<${Time}
        at=${one.blockTimestamp ? new Date(Number(one.blockTimestamp) * 1000).toISOString() : undefined}
      />`,
      html`<a class="mono" href=${link(`/chain/addresses/${one.from}`)}>${start(one.from)}</a>`,
      one.to ? html`<a class="mono" href=${link(`/chain/addresses/${one.to}`)}>${start(one.to)}</a>` : 'new contract',
      `${coins(one.value, coinDecimals)} LUME`,
    ])}
  />`;
}
