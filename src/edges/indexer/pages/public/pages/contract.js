// @ts-check
/** @import { WithHeaders, ReadState } from '../answers.d.ts' */
/** @import { Item } from '../decoding.js' */
/** @import { Markup } from '../htm-preact.d.ts' */
import { html, useState } from '/assets/htm-preact.js';
import { decodeResult } from '../decoding.js';
import { canBeEntered, encodeCall } from '../encoding.js';
import { number, start } from '../format.js';
import { evm, useAnswer, whereRefused } from '../read.js';
import { link } from '../router.js';
import { Outcome, Sheet, Table, textOf } from '../ui.js';
import { AddressLink, Frames, Logs, Values } from './transaction.js';

/** Transactions whose calls are shown; each is executed anew for that. */
const tracedTransactions = 5;
/** Blocks that are searched for logs, fewer where those hold too many. */
const searchedBlocks = [10_000, 500, 20, 1];
const shownLogs = 20;
const firstSlots = Array.from({ length: 8 }, (_one, at) => `0x${at}`);
/** Where proxies keep the contract that they stand for (EIP-1967). */
const targetSlot = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
const nothing = /^0x0*$/;

/** A call with the transaction that made it. @typedef {{ hash: string, frames: readonly any[] }} Traced */
/**
 * Where a contract came from, and some of its slots.
 *
 * @typedef {{ codeHash: string, creator: any, why: string, slots: readonly string[] }} Origin
 */

/** Why an answer of the namespace `ots` is missing. @param {any} error */
export function whyNot(error) {
  return error.code === -32601 ? 'not read here: EVM_NAMESPACES lacks ots' : `unknown: ${error.message}`;
}

/** @param {string} address @returns {Promise<WithHeaders<Origin>>} */
async function readOrigin(address) {
  let why = 'it is there from the beginning of the chain';
  const [proof, creator, values] = await Promise.all([
    evm('eth_getProof', address, [], 'latest'),
    evm('ots_getContractCreator', address).catch(whereRefused((error) => void (why = whyNot(error)))),
    evm('eth_getStorageValues', { [address]: [...firstSlots, targetSlot] }, 'latest'),
  ]);
  return { body: { codeHash: proof.codeHash, creator, why, slots: values[address] }, headers: new Headers() };
}

/** The contract whose code runs where this one is called, or undefined. @param {string} code @param {string} slot */
function targetOf(code, slot) {
  const [, delegate, minimal] =
    /^0xef0100([\da-f]{40})$/.exec(code) ?? /^0x363d3d373d3d3d363d(73)([\da-f]{40})5af4/.exec(code) ?? [];
  const target = minimal ?? delegate ?? (nothing.test(slot) ? undefined : slot.slice(-40));
  return target && `0x${target}`;
}

/** The compiler that the end of the code names (CBOR), or undefined. @param {string} code */
function compilerOf(code) {
  const [, version] = /64736f6c6343([\da-f]{6})0033$/.exec(code) ?? [];
  return (
    version &&
    `solc ${version
      .match(/../g)
      ?.map((byte) => Number.parseInt(byte, 16))
      .join('.')}`
  );
}

/**
 * Where a contract came from and what it stands for, as names and values; no address reads nothing.
 *
 * @param {string | null} address
 * @param {string} code
 * @returns {{ facts: readonly (readonly [string, Markup] | false | undefined | '')[], slots: readonly string[] }}
 */
export function useOrigin(address, code) {
  const { body, failure } = /** @type {ReadState<Origin>} */ (useAnswer(address, () => readOrigin(address ?? '')));
  if (!body) return { facts: [failure && ['origin', failure]], slots: [] };
  const { codeHash, creator, why, slots } = body;
  const target = targetOf(code, slots.at(-1) ?? '0x');
  const compiler = compilerOf(code);
  const facts = /** @type {const} */ ([
    ['code hash', html`<span class="mono long">${codeHash}</span>`],
    compiler && ['compiler', compiler],
    target && ['stands for', html`<${AddressLink} address=${target} />`],
    ['created by', creator ? html`<${AddressLink} address=${creator.creator} />` : why],
    creator && [
      'created in',
      html`<a class="mono long" href=${link(`/chain/transactions/${creator.hash}`)}>${creator.hash}</a>`,
    ],
  ]);
  return { facts, slots: slots.slice(0, firstSlots.length) };
}

/** @param {{ hash: string }} props */
function InTransaction({ hash }) {
  return html`<p>
    <span class="quiet">in </span><a class="mono" href=${link(`/chain/transactions/${hash}`)}>${start(hash)}</a>
  </p>`;
}

/**
 * Its logs among some of the latest blocks, the newest first.
 *
 * @typedef {{ blocks: number, logs: readonly any[] }} Logged
 */

/**
 * The logs of a contract in as many of the latest blocks as one request may read.
 *
 * @param {string} address
 * @returns {Promise<WithHeaders<Logged>>}
 */
async function readLogs(address) {
  const head = Number(await evm('eth_blockNumber'));
  const read = async (/** @type {number} */ blocks) => {
    const fromBlock = `0x${Math.max(0, head - blocks + 1).toString(16)}`;
    const logs = await evm('eth_getLogs', { address, fromBlock, toBlock: `0x${head.toString(16)}` });
    return { blocks: Math.min(blocks, head + 1), logs: logs.toReversed().slice(0, shownLogs) };
  };
  const [first = 1, ...fewer] = searchedBlocks;
  const body = await fewer.reduce((before, blocks) => before.catch(() => read(blocks)), read(first));
  return { body, headers: new Headers() };
}

/**
 * The latest logs of a contract.
 *
 * @param {{ address: string, items: readonly Item[] }} props
 */
export function ContractLogs({ address, items }) {
  const answer = /** @type {ReadState<Logged>} */ (useAnswer(address, () => readLogs(address), { follow: true }));
  const { blocks = 0, logs = [] } = answer.body ?? {};
  const hashes = [...new Set(logs.map(({ transactionHash }) => transactionHash))];
  return html`<${Sheet} title="Logs" note=${blocks ? `the latest ${shownLogs} of ${number(blocks)} blocks` : ''}>
    <${Outcome} of=${answer}>
      ${
        hashes.length === 0
          ? html`<p class="quiet">It logged nothing there.</p>`
          : hashes.map(
              (hash) =>
                html`<div class="stack">
                  <${InTransaction} hash=${hash} />
                  <${Logs} logs=${logs.filter((log) => log.transactionHash === hash)} items=${items} />
                </div>`,
            )
      }
    <//>
  <//>`;
}

/**
 * The calls of some transactions that a contract received or made.
 *
 * @param {string} address
 * @param {readonly string[]} hashes
 * @returns {Promise<WithHeaders<readonly Traced[]>>}
 */
async function readCalls(address, hashes) {
  const traced = await Promise.all(
    hashes.map(async (hash) => ({
      hash,
      frames: await evm('ots_traceTransaction', hash).catch(whereRefused(() => [])),
    })),
  );
  const body = traced
    .map(({ hash, frames }) => ({
      hash,
      frames: frames.filter((/** @type {any} */ { from, to }) => from === address || to === address),
    }))
    .filter(({ frames }) => frames.length > 0);
  return { body, headers: new Headers() };
}

/**
 * The calls that a contract received or made in its latest transactions.
 *
 * @param {{ address: string, transactions: readonly Readonly<{ hash: string }>[], items: readonly Item[] }} props
 */
export function ContractCalls({ address, transactions, items }) {
  const hashes = transactions.slice(0, tracedTransactions).map(({ hash }) => hash);
  const answer = /** @type {ReadState<readonly Traced[]>} */ (
    useAnswer(`${address} ${hashes.join(' ')}`, () => readCalls(address, hashes))
  );
  return html`<${Outcome} of=${answer}>
    ${
      answer.body?.length === 0
        ? html`<p class="quiet">No call of its latest transactions can be shown.</p>`
        : (answer.body ?? []).map(
            ({ hash, frames }) =>
              html`<div class="stack">
                <${InTransaction} hash=${hash} /><${Frames} frames=${frames} items=${items} />
              </div>`,
          )
    }
  <//>`;
}

/**
 * What a call returned, or why it was refused.
 *
 * @typedef {{ item?: Item, bytes?: string, failure?: string }} Returned
 */

/** Calls a contract without a transaction. @param {{ address: string, functions: readonly Item[] }} props */
export function ReadCalls({ address, functions }) {
  const listed = functions.filter(canBeEntered);
  const [selector, setSelector] = useState(listed[0]?.selector ?? '');
  const [returned, setReturned] = useState(/** @type {Returned | undefined} */ (undefined));
  const item = listed.find((one) => one.selector === selector);
  /** @param {SubmitEvent} event */
  const call = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    try {
      const texts = (item?.inputs ?? []).map((_one, at) => textOf(form, `argument${at}`));
      const data = item ? encodeCall(item, texts) : textOf(form, 'data');
      setReturned({ bytes: await evm('eth_call', { to: address, data }, 'latest'), ...(item ? { item } : {}) });
    } catch (error) {
      setReturned({ failure: error instanceof Error ? error.message : String(error) });
    }
  };
  const choose = (/** @type {any} */ { target }) => (setSelector(target.value), setReturned(undefined));
  return html`<form class="filters" aria-label="Call" onSubmit=${call}>
      <label
        ><span>Function</span>
        <select onChange=${choose}>
          ${listed.map((one) => html`<option value=${one.selector}>${one.name}</option>`)}
          <option value="">bytes of a call</option>
        </select></label
      >
      ${
        item
          ? item.inputs.map(
              ({ name, type }, at) =>
                html`<label key=${`${selector}${at}`}>
                  <span>${name || type} (${type})</span><input name=${`argument${at}`} spellcheck="false" />
                </label>`,
            )
          : html`<label
              ><span>Bytes</span><input name="data" required pattern="0x([0-9a-fA-F]{2})*" value="0x"
            /></label>`
      }
      <button>Call</button>
    </form>
    <div role="status"><${Result} of=${returned} /></div>`;
}

/** @param {{ of: Returned | undefined }} props */
function Result({ of }) {
  if (!of) return '';
  if (of.failure) return html`<p class="bad">${of.failure}</p>`;
  const values = of.item ? decodeResult(of.item, of.bytes ?? '0x') : [];
  return values.length > 0
    ? html`<${Values} values=${values} />`
    : html`<p class="mono long">${of.bytes === '0x' ? 'It returned nothing.' : of.bytes}</p>`;
}

/**
 * Slots of a contract: the first ones, or one by its number.
 *
 * @param {{ address: string, slots: readonly string[] }} props
 */
export function Storage({ address, slots }) {
  const [chosen, setChosen] = useState(/** @type {readonly [string, string] | undefined} */ (undefined));
  /** @param {SubmitEvent} event */
  const show = async (event) => {
    event.preventDefault();
    const slot = textOf(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)), 'slot');
    const id = /^\d+$/.test(slot) ? `0x${BigInt(slot).toString(16)}` : slot;
    setChosen([slot, await evm('eth_getStorageAt', address, id, 'latest').catch((error) => error.message)]);
  };
  const first = slots.map((value, at) => /** @type {const} */ ([String(at), value]));
  return html`<${Sheet}
    title="Storage"
    note=${`slots 0 to ${firstSlots.length - 1} that hold something, or one by its number`}
  >
    <${Table}
      label="Slots"
      head=${['slot', 'value']}
      rows=${[...first.filter(([, value]) => !nothing.test(value)), ...(chosen ? [chosen] : [])].map(
        ([slot, value]) => [
          html`<span class="mono long">${slot}</span>`,
          html`<span class="mono long">${value}</span>`,
        ],
      )}
      empty="The first slots are empty."
    />
    <form class="filters" aria-label="Slot" onSubmit=${show}>
      <label><span>Slot</span><input name="slot" required pattern="[0-9]{1,77}|0x[0-9a-fA-F]{1,64}" /></label>
      <button>Show</button>
    </form>
  <//>`;
}
