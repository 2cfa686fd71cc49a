// @ts-check
/** @import { LogAnswer, LoggedEvent, WithHeaders } from '../answers.d.ts' */
/** @import { ActionAnswer, PageProps, ReadState, TransfersAnswer, AboutAnswer } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { age, coins, gist, moment, number, typeName } from '../format.js';
import { readNow, useAnswer, useRead } from '../read.js';
import { link } from '../router.js';
import { useInstants } from '../time.js';
import { AccountLink, Code, Facts, HashLink, Json, NodeLink, Outcome, Sheet, State, Table, Time } from '../ui.js';
import { TransferTable } from './transfers.js';

/** An event of the action, and the instant right after it. @typedef {{ as_of: string, event: LoggedEvent }} Fact */

const mostFacts = 50;

/**
 * What the log has of an action, the oldest first; an event is served once a checkpoint has signed it, some seconds
 * after it is written.
 *
 * @param {string} id
 * @returns {Promise<WithHeaders<readonly Fact[]>>}
 */
async function readFacts(id) {
  const [{ body, headers }, logs] = await Promise.all([
    readNow(`/v1/actions/${encodeURIComponent(id)}/versions`),
    readNow('/v1/logs'),
  ]);
  const { size = 0 } = logs.body.logs.find((/** @type {LogAnswer} */ { stream }) => stream === 'ACTIONS') ?? {};
  /** @type {readonly string[]} */
  const positions = body.versions.map((/** @type {{ as_of: string }} */ one) => one.as_of);
  const signed = positions.filter((one) => Number(one.split(':')[1]) <= size).slice(0, mostFacts);
  const facts = signed.toReversed().map(async (as_of) => {
    const event = await readNow(`/log/${as_of.replace(':', '/events/')}`);
    return { as_of, event: event.body };
  });
  return { body: await Promise.all(facts), headers };
}

/** @param {{ facts: readonly Fact[] }} props */
function History({ facts }) {
  return html`<${Table}
    label="Facts"
    head=${['event', 'fact', 'written', 'content', 'the action then']}
    rows=${facts.map(({ as_of, event }) => [
      html`<a class="mono" href=${link(`/log/${as_of.replace(':', '/')}`)}>${as_of}</a>`,
      typeName(event.type),
      html`<${Time} at=${event.time} isFull=${true} />`,
      html`<span class="quiet">${gist(typeName(event.type), event.data)}</span>`,
      html`<a href=${link(`/actions/${event.subject}`, { as_of })}>as of then</a>`,
    ])}
  />`;
}

/** The steps of an action, each with its time, height and transaction. @param {ActionAnswer} action */
function stepsOf(action) {
  const { transactions: of } = action;
  const isOver = action.chain_state === 'expired';
  return [
    { name: 'registered', time: action.created_at, transaction: of.register, isReached: true },
    {
      name: 'finalized',
      time: action.finalized_at,
      transaction: of.finalize,
      isReached: action.finalized_at !== null || of.finalize !== null,
    },
    {
      name: 'approved',
      time: action.approved_at,
      transaction: of.approve,
      isReached: action.approved_at !== null || of.approve !== null,
    },
    ...(isOver ? [{ name: 'expired', time: action.expires_at, transaction: null, isReached: true }] : []),
  ];
}

/** @param {{ action: ActionAnswer }} props */
function LifeLine({ action }) {
  const steps = stepsOf(action);
  return html`<ol class="life">
    ${steps.map(({ name, time, transaction, isReached }, at) => {
      const before = steps[at - 1]?.time;
      return html`<li class=${isReached ? 'reached' : ''}>
        <h3>${isReached ? html`<${State} word=${name} />` : html`<span class="quiet">not ${name}</span>`}</h3>
        ${
          isReached
            ? html`<p>
                  <${Time} at=${time} isFull=${true} />
                  ${time && before ? html`<span class="quiet"> · ${age(before, Date.parse(time)).replace(' ago', ' later')}</span>` : ''}
                </p>
                ${
                  transaction
                    ? html`<p>
                        height ${number(transaction.height)} · transaction <${HashLink} hash=${transaction.tx_hash} />
                      </p>`
                    : ''
                }
                ${time ? html`<p><a href=${link('/nodes', { as_of: time })}>SuperNodes at that moment</a></p>` : ''}`
            : ''
        }
      </li>`;
    })}
  </ol>`;
}

/** A data hash, which leads to all actions of the same data. @param {{ hash: string | null }} props */
function DataLink({ hash }) {
  if (!hash) return '–';
  return html`<a class="mono" href=${link('/actions', { dataHash: hash })} title="Actions of the same data"
    >${hash}</a
  >`;
}

/** @param {{ action: ActionAnswer }} props */
function Record({ action }) {
  const { price } = action;
  return html`<${Facts}
    of=${[
      ['type', action.type],
      ['status', html`<${State} word=${action.chain_state === 'expired' ? 'expired' : action.status} />`],
      ['state on the chain', action.chain_state],
      ['creator', html`<${AccountLink} address=${action.creator} />`],
      ['file', action.file_name],
      ['size', `${number(action.file_size_kbs)} KB`],
      ['public', action.public === null ? '–' : action.public ? 'yes' : 'no'],
      ['data hash', html`<${DataLink} hash=${action.data_hash} />`],
      [
        'price',
        price ? (price.denom === 'ulume' ? `${coins(price.amount, 6)} LUME` : `${price.amount} ${price.denom}`) : '–',
      ],
      ['expires', action.expires_at ? moment(action.expires_at) : '–'],
      [
        'finalized by',
        action.supernodes.length === 0 ? '–' : action.supernodes.map((id) => html`<${NodeLink} id=${id} /> `),
      ],
    ]}
  />`;
}

/** @param {PageProps} props */
export function Action({ parts: { id = '' } }) {
  const path = `/v1/actions/${encodeURIComponent(id)}`;
  const answer = /** @type {ReadState<ActionAnswer>} */ (useRead(path, { follow: true }));
  const about = /** @type {ReadState<AboutAnswer>} */ (useRead('/about.json')).body;
  const transfers = /** @type {ReadState<TransfersAnswer>} */ (
    useRead(about?.gatewayUrl && answer.body ? `/transfers.json?action=${encodeURIComponent(id)}` : null)
  );
  const action = answer.body;
  const facts = /** @type {ReadState<readonly Fact[]>} */ (
    useAnswer(action ? `facts ${id} ${action.status} ${action.chain_state}` : null, () => readFacts(id))
  );
  useInstants((facts.body ?? []).map(({ event, as_of }) => ({ at: event.time, as_of })));
  return html`<article class="stack">
    <h1>Action ${id}</h1>
    <${Outcome} of=${answer}>
      ${
        action
          ? html`<${Sheet} title="Life"><${LifeLine} action=${action} /><//>
              <${Sheet} title="Facts" note="what the log has of it; each leads to its proof"
                ><${Outcome} of=${facts}><${History} facts=${facts.body ?? []} /><//
              ><//>
              <div class="columns">
                <${Sheet} title="Record"><${Record} action=${action} /><//>
                <${Sheet} title="Metadata" note="as decoded from the chain">
                  ${action.metadata ? html`<${Code} value=${action.metadata} label="Metadata" />` : html`<p class="quiet">The chain has none.</p>`}
                <//>
              </div>
              ${
                transfers.body
                  ? html`<${Sheet}
                      title="Transfers"
                      note=${html`<a href=${`${about?.gatewayUrl}/transfers?action=${encodeURIComponent(id)}`}>fetch the file</a>`}
                    >
                      <${TransferTable} transfers=${transfers.body} />
                    <//>`
                  : ''
              }`
          : ''
      }
    <//>
    <${Json} paths=${[path, `${path}/versions`]} />
  </article>`;
}
