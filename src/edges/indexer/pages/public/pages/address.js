// @ts-check
/** @import { WithHeaders, PageProps, ReadState } from '../answers.d.ts' */
/** @import { Item } from '../decoding.js' */
import { html } from '/assets/htm-preact.js';
import { contractItems } from '../decoding.js';
import { coins, number, start } from '../format.js';
import { evm, evmPath, useAnswer, whereRefused } from '../read.js';
import { link } from '../router.js';
import { Code, Facts, Json, Outcome, Sheet, Table, Time } from '../ui.js';
import { coinDecimals } from './chain.js';
import { ContractCalls, ContractLogs, ReadCalls, Storage, useOrigin, whyNot } from './contract.js';

/** Their titles, and the names by which their functions are listed. */
const systemContracts = /** @type {Record<string, readonly [string, string]>} */ ({
  '0x0000000000000000000000000000000000000901': ['System contract of actions', 'action'],
  '0x0000000000000000000000000000000000000902': ['System contract of SuperNodes', 'supernode'],
});
const mostTransactions = 25;

/**
 * What is known of an account.
 *
 * @typedef {{
 *   balance: string
 *   code: string
 *   nonce: string
 *   transactions?: readonly any[]
 *   why?: string
 *   items: readonly Item[]
 * }} Known
 */

/** @param {string} address @returns {Promise<WithHeaders<Known>>} */
async function readAddress(address) {
  let why = '';
  const [balance, code, nonce, found, items] = await Promise.all([
    evm('eth_getBalance', address, 'latest'),
    evm('eth_getCode', address, 'latest'),
    evm('eth_getTransactionCount', address, 'latest'),
    evm('ots_searchTransactionsBefore', address, 0, mostTransactions).catch(
      whereRefused((error) => void (why = whyNot(error))),
    ),
    contractItems(),
  ]);
  return { body: { balance, code, nonce, transactions: found?.txs, why, items }, headers: new Headers() };
}

/** The length of bytes in hexadecimal, in words. @param {string} hex */
function bytesIn(hex) {
  const length = (hex.length - 2) / 2;
  return `${number(length)} ${length === 1 ? 'byte' : 'bytes'}`;
}

/** @param {PageProps} props */
export function Address({ parts: { address: named = '' } }) {
  const address = named.toLowerCase();
  const answer = /** @type {ReadState<Known>} */ (useAnswer(address, () => readAddress(address), { follow: true }));
  const known = answer.body;
  const isContract = known !== undefined && known.code !== '0x';
  const origin = useOrigin(isContract ? address : null, known?.code ?? '0x');
  return html`<article class="stack">
    <h1>Address <span class="mono long">${address}</span></h1>
    <${Outcome} of=${answer}>
      ${
        known
          ? html`<${Sheet} title=${systemContracts[address]?.[0] ?? (isContract ? 'Contract' : 'Account')}>
                <${Facts}
                  of=${[
                    ['balance', `${coins(known.balance, coinDecimals)} LUME`],
                    // A contract's nonce is 1 from its creation on.
                    isContract
                      ? ['contracts created', number(Math.max(0, Number(known.nonce) - 1))]
                      : ['transactions sent', number(Number(known.nonce))],
                    isContract && ['size of its code', bytesIn(known.code)],
                    ...origin.facts,
                  ]}
                />
              <//>
              <${Sheet} title="Latest transactions">
                ${known.transactions ? html`<${Transactions} of=${known.transactions} />` : html`<p class="quiet">${known.why}</p>`}
              <//>
              ${isContract ? html`<${OfContract} address=${address} known=${known} slots=${origin.slots} />` : ''}`
          : ''
      }
    <//>
    <${Json} paths=${[evmPath('eth_getBalance', address, 'latest'), evmPath('eth_getCode', address, 'latest')]} />
  </article>`;
}

/** @param {{ address: string, known: Known, slots: readonly string[] }} props */
function OfContract({ address, known: { code, transactions, items }, slots }) {
  const ofContract = systemContracts[address]?.[1] ?? '';
  const functions = items.filter(({ contract, outputs }) => outputs && contract === ofContract);
  return html`<div class="stack">
    <${ContractLogs} address=${address} items=${items} />
    ${
      transactions
        ? html`<${Sheet} title="Calls" note="that it received or made in its latest transactions">
            <${ContractCalls} address=${address} transactions=${transactions} items=${items} />
          <//>`
        : ''
    }
    <${Sheet} title="Read" note=${ofContract === '' ? 'functions that a token has' : 'functions that change nothing'}>
      <${ReadCalls} address=${address} functions=${functions} />
    <//>
    <${Storage} address=${address} slots=${slots} />
    <${Sheet} title="Code"><${Code} value=${code} label="Code" /><//>
  </div>`;
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
