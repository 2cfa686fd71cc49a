// @ts-check
/** @import { WithHeaders, LogAnswer, LoggedEvent, LogsAnswer, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { gist, number, typeName } from '../format.js';
import { read, useAnswer, useRead, whereRefused } from '../read.js';
import { go, link } from '../router.js';
import { EntityLink, Facts, Json, Outcome, Sheet, Table, textOf, Time } from '../ui.js';

const pageLength = 25;

export function Logs() {
  const logs = /** @type {ReadState<LogsAnswer>} */ (useRead('/v1/logs', { follow: true }));
  return html`<article class="stack">
    <h1>Log</h1>
    <${Sheet} title="Streams" note="each is a signed, append-only log that anyone may check">
      <${Outcome} of=${logs}>
        <${Table}
          label="Streams"
          head=${['stream', { name: 'events', isNumber: true }, { name: 'first kept', isNumber: true }, { name: 'signed', isNumber: true }, 'root']}
          rows=${(logs.body?.logs ?? []).map((log) => [
            html`<a href=${link(`/log/${log.stream}`)}>${log.stream}</a>`,
            number(log.size),
            number(log.first_kept),
            html`<${Time} at=${log.signed_at} />`,
            html`<span class="mono" title=${log.root}>${log.root.slice(0, 12)}…</span>`,
          ])}
        />
      <//>
      <${Json} paths=${['/v1/logs']} />
    <//>
    <${Sheet} title="An event by its position"><${Jump} stream="ACTIONS" /><//>
  </article>`;
}

/** @param {{ stream: string }} props */
function Jump({ stream }) {
  /** @param {SubmitEvent} event */
  const jump = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    go(link('/search', { q: `${textOf(form, 'stream')}:${textOf(form, 'sequence')}` }));
  };
  return html`<form class="filters" action="/search" onSubmit=${jump}>
    <label><span>Stream</span><input name="stream" required key=${stream} defaultValue=${stream} /></label>
    <label><span>Sequence</span><input name="sequence" required inputmode="numeric" pattern="[0-9]+" /></label>
    <button>Show</button>
  </form>`;
}

/**
 * The events of a stream up to a sequence, the latest first; undefined where the bytes are gone.
 *
 * @param {string} stream
 * @param {number} last
 * @returns {Promise<WithHeaders<readonly (readonly [number, LoggedEvent | undefined])[]>>}
 */
async function eventsUpTo(stream, last) {
  const sequences = Array.from({ length: Math.min(pageLength, last) }, (_one, at) => last - at);
  const body = await Promise.all(
    sequences.map(async (sequence) => {
      const answer = await read(`/log/${stream}/events/${sequence}`).catch(whereRefused(() => undefined));
      return /** @type {const} */ ([sequence, /** @type {LoggedEvent | undefined} */ (answer?.body)]);
    }),
  );
  return { body, headers: new Headers() };
}

/** @param {PageProps} props */
export function Log({ parts: { stream = '' }, query }) {
  const logs = /** @type {ReadState<LogsAnswer>} */ (useRead('/v1/logs', { follow: !query.has('last') }));
  const log = logs.body?.logs.find((one) => one.stream === stream);
  const last = Math.min(Number(query.get('last') ?? log?.size ?? 0), log?.size ?? 0);
  return html`<article class="stack">
    <h1>Log ${stream}</h1>
    <${Outcome} of=${logs}>
      ${log ? html`<${LogSheets} log=${log} last=${last} />` : html`<p>There is no such log; <a href="/log">all of them</a>.</p>`}
    <//>
    <${Json} paths=${[`/log/${stream}/checkpoint`, `/log/${stream}/vkey`]} />
  </article>`;
}

/** @param {{ log: LogAnswer, last: number }} props */
function LogSheets({ log, last }) {
  const { stream } = log;
  const events = /** @type {ReadState<readonly (readonly [number, LoggedEvent | undefined])[]>} */ (
    useAnswer(`${stream} ${last}`, () => eventsUpTo(stream, last))
  );
  return html`<div class="stack">
    <${Sheet} title="Checkpoint">
      <${Facts}
        of=${[
          ['events', number(log.size)],
          ['root', html`<span class="mono long">${log.root}</span>`],
          ['signed', html`<${Time} at=${log.signed_at} isFull=${true} />`],
          ['origin', html`<span class="mono long">${log.origin}</span>`],
          ['key', html`<span class="mono long">${log.vkey}</span>`],
          ['first event that is kept', number(log.first_kept)],
        ]}
      />
    <//>
    <${Sheet} title="Events" note=${`the latest first, from ${number(last)}`}>
      <${Outcome} of=${events}>
        <${Table}
          label="Events"
          head=${['sequence', { name: 'written', isNumber: true }, 'fact', 'entity', 'content']}
          rows=${(events.body ?? []).map(([sequence, event]) => {
            const name = event ? typeName(event.type) : '';
            return [
              html`<a href=${link(`/log/${stream}/${sequence}`)}>${sequence}</a>`,
              html`<${Time} at=${event?.time} />`,
              event ? name : html`<span class="quiet">its bytes are not kept</span>`,
              event ? html`<${EntityLink} event=${event} isShort=${true} />` : '–',
              html`<span class="quiet">${event ? gist(name, event.data) : ''}</span>`,
            ];
          })}
        />
      <//>
      <p class="pager">
        ${last < log.size ? html`<a href=${link(`/log/${stream}`)}>Latest</a>` : ''}
        ${last > pageLength ? html`<a rel="next" href=${link(`/log/${stream}`, { last: String(last - pageLength) })}>Earlier</a>` : ''}
      </p>
    <//>
  </div>`;
}
