// @ts-check
/** @import { WithHeaders, PageProps, ReadState } from '../answers.d.ts' */
/** @import { Item, Named } from '../decoding.js' */
import { html } from '/assets/htm-preact.js';
import { contractItems, decodeCall, decodeLog } from '../decoding.js';
import { coins, number } from '../format.js';
import { evm, evmPath, parsed, read, useAnswer, whereRefused } from '../read.js';
import { link } from '../router.js';
import { Code, Facts, Json, Outcome, Sheet, State, Time } from '../ui.js';
import { coinDecimals } from './chain.js';

/**
 * What is known of a transaction.
 *
 * @typedef {{ evm?: any, receipt?: any, frames?: any, own?: any, items: readonly Item[] }} Known
 */

/** @param {string} hash @returns {Promise<WithHeaders<Known>>} */
async function readTransaction(hash) {
  const headers = new Headers();
  const [transaction, receipt, items] = await Promise.all([
    evm('eth_getTransactionByHash', hash).catch(whereRefused(() => null)),
    evm('eth_getTransactionReceipt', hash).catch(whereRefused(() => null)),
    contractItems(),
  ]);
  if (transaction) {
    const frames = await evm('ots_traceTransaction', hash).catch(whereRefused(() => undefined));
    return { body: { evm: transaction, receipt, frames, items }, headers };
  }
  const { body: own } = await read(`/transactions.json?hash=${hash.replace(/^0x/, '').toUpperCase()}`);
  return { body: { own, items }, headers };
}

/** @param {{ address: string }} props */
export function AddressLink({ address }) {
  return html`<a class="mono long" href=${link(`/chain/addresses/${address}`)}>${address}</a>`;
}

/** @param {{ values: readonly Named[] }} props */
export function Values({ values }) {
  return html`<${Facts} of=${values.map(([name, value]) => [name, html`<span class="mono long">${value}</span>`])} />`;
}

/** @param {{ logs: readonly any[], items: readonly Item[] }} props */
export function Logs({ logs, items }) {
  if (logs.length === 0) return html`<p class="quiet">It logged nothing.</p>`;
  return logs.map((log) => {
    const decoded = decodeLog(items, log);
    return html`<div class="stack part">
      <h3>
        ${Number(log.logIndex)} ${decoded?.name ?? 'unknown event'}
        <small><${AddressLink} address=${log.address} /></small>
      </h3>
      ${
        decoded && decoded.values.length > 0
          ? html`<${Values} values=${decoded.values} />`
          : html`<${Code} value=${{ topics: log.topics, data: log.data }} label="Topics and data" />`
      }
    </div>`;
  });
}

/**
 * Calls within a transaction, each indented below the one that made it.
 *
 * @param {{ frames: readonly any[], items: readonly Item[] }} props
 */
export function Frames({ frames, items }) {
  return html`<ol class="frames">
    ${frames.map(
      ({ type, depth, from, to, value, input }) =>
        html`<li style=${{ paddingLeft: `${Math.min(depth, 12)}rem` }}>
          <b>${type}</b>
          <span class="mono">${decodeCall(items, input ?? '0x')?.name ?? (input ?? '0x').slice(0, 10)}</span>
          <span class="quiet"> from </span><${AddressLink} address=${from} />
          ${to ? html`<span class="quiet"> to </span><${AddressLink} address=${to} />` : ''}
          ${value && BigInt(value) > 0n ? html` <b>${coins(value, coinDecimals)} LUME</b>` : ''}
        </li>`,
    )}
  </ol>`;
}

/** @param {{ known: Known }} props */
function OfEvm({ known: { evm: one, receipt, frames, items } }) {
  const call = decodeCall(items, one.input);
  return html`<div class="stack">
    <${Sheet} title="Transaction of the EVM">
      <${Facts}
        of=${[
          [
            'outcome',
            receipt ? html`<${State} word=${receipt.status === '0x1' ? 'done' : 'failed'} />` : 'waiting for a block',
          ],
          one.blockNumber && [
            'block',
            html`<a href=${link(`/chain/blocks/${Number(one.blockNumber)}`)}>${Number(one.blockNumber)}</a>`,
          ],
          one.blockTimestamp && [
            'sealed',
            html`<${Time} at=${new Date(Number(one.blockTimestamp) * 1000).toISOString()} isFull=${true} />`,
          ],
          ['from', html`<${AddressLink} address=${one.from} />`],
          ['to', one.to ? html`<${AddressLink} address=${one.to} />` : 'a new contract'],
          receipt?.contractAddress && ['created', html`<${AddressLink} address=${receipt.contractAddress} />`],
          ['value', `${coins(one.value, coinDecimals)} LUME`],
          receipt && ['gas', `${number(Number(receipt.gasUsed))} of ${number(Number(one.gas))}`],
          receipt && [
            'fee',
            `${coins(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice), coinDecimals)} LUME`,
          ],
          ['nonce', Number(one.nonce)],
          ['type', Number(one.type)],
        ]}
      />
    <//>
    <${Sheet} title=${call ? `Call of ${call.name}` : 'Input'}>
      ${call && call.values.length > 0 ? html`<${Values} values=${call.values} />` : html`<${Code} value=${one.input} label="Input" />`}
    <//>
    <${Sheet} title="Logs"><${Logs} logs=${receipt?.logs ?? []} items=${items} /><//>
    ${frames ? html`<${Sheet} title="Calls within"><${Frames} frames=${frames} items=${items} /><//>` : ''}
  </div>`;
}

/** @param {{ own: any }} props */
function OfChain({ own: { tx, tx_response: outcome } }) {
  return html`<div class="stack">
    <${Sheet} title="Transaction of the chain">
      <${Facts}
        of=${[
          ['outcome', html`<${State} word=${outcome.code === 0 ? 'done' : 'failed'} />`],
          outcome.code !== 0 && ['why', outcome.raw_log],
          ['block', html`<a href=${link(`/chain/blocks/${outcome.height}`)}>${outcome.height}</a>`],
          ['sealed', html`<${Time} at=${outcome.timestamp} isFull=${true} />`],
          ['gas', `${number(Number(outcome.gas_used))} of ${number(Number(outcome.gas_wanted))}`],
        ]}
      />
    <//>
    ${tx.body.messages.map(
      (/** @type {any} */ message) =>
        html`<${Sheet} title=${message['@type'].split('.').at(-1)}>
          ${
            message.actionId || message.action_id
              ? html`<p>
                  <a href=${link(`/actions/${message.actionId ?? message.action_id}`)}
                    >Action ${message.actionId ?? message.action_id}</a
                  >
                </p>`
              : ''
          }
          <${Code} value=${withoutEscapes(message)} label="Message" />
        <//>`,
    )}
  </div>`;
}

/**
 * A message whose texts that hold JSON are shown as what they hold.
 *
 * @param {Record<string, unknown>} message
 */
function withoutEscapes(message) {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name,
      typeof value === 'string' && value.startsWith('{') ? parsed(value) : value,
    ]),
  );
}

/** @param {PageProps} props */
export function Transaction({ parts: { hash = '' } }) {
  const answer = /** @type {ReadState<Known>} */ (useAnswer(hash, () => readTransaction(hash)));
  const known = answer.body;
  const upper = hash.replace(/^0x/, '').toUpperCase();
  return html`<article class="stack">
    <h1>Transaction <span class="mono long">${hash}</span></h1>
    <${Outcome} of=${answer}>
      ${known?.evm ? html`<${OfEvm} known=${known} />` : ''} ${known?.own ? html`<${OfChain} own=${known.own} />` : ''}
    <//>
    <${Json}
      paths=${
        known?.own
          ? [`/transactions.json?hash=${upper}`]
          : [evmPath('eth_getTransactionByHash', hash), evmPath('eth_getTransactionReceipt', hash)]
      }
    />
  </article>`;
}
