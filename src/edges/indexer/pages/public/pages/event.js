// @ts-check
/** @import { WithHeaders, LoggedEvent, LogsAnswer, PageProps, ReadState } from '../answers.d.ts' */
import { html } from '/assets/htm-preact.js';
import { checkProof } from '/assets/verify.js';
import { moment, number, typeName } from '../format.js';
import { parsed, Refused, responseOf, useAnswer, useRead } from '../read.js';
import { link } from '../router.js';
import { Code, EntityLink, Facts, Json, Outcome, Sheet, State, Table, Time } from '../ui.js';
import { Links } from './causes.js';

/**
 * An event, its proof as checked in this browser, and the entity's event before.
 *
 * @typedef {{ text: string, event: LoggedEvent, proof: string, verdict: string }} Known
 */

/** @param {string} path */
async function textOf(path) {
  const response = await responseOf(path);
  const text = await response.text();
  if (!response.ok) throw new Refused(parsed(text).error ?? `${path} answers ${response.status}`, response.status);
  return text;
}

/**
 * Fails for good where the log has no such event, and for a moment where no checkpoint covers it yet.
 *
 * @param {string} stream
 * @param {number} sequence
 * @param {unknown} error
 * @returns {Promise<never>}
 */
async function whereUnsigned(stream, sequence, error) {
  if (error instanceof Refused && error.status === 404) {
    const { headers } = await responseOf(`/log/${stream}/events?after=${sequence - 1}&limit=1`);
    if (headers.get('annals-sequences') === String(sequence))
      throw new Refused('The log has the event, but no checkpoint is signed over it yet.', 503);
  }
  throw error;
}

/** @param {string} stream @param {number} sequence @returns {Promise<WithHeaders<Known>>} */
async function readEvent(stream, sequence) {
  const [text, proof, vkey] = await Promise.all([
    textOf(`/log/${stream}/events/${sequence}`),
    textOf(`/log/${stream}/proofs/${sequence}`),
    textOf(`/log/${stream}/vkey`),
  ]).catch((error) => whereUnsigned(stream, sequence, error));
  const verdict = await checkProof(proof, new TextEncoder().encode(text), vkey).then(
    ({ index, size }) =>
      index === sequence - 1
        ? `sound: event ${sequence} of the ${number(size)} that the log has signed`
        : 'failed: the proof is of another event',
    (error) => `failed: ${error.message}`,
  );
  return { body: { text, proof, verdict, event: JSON.parse(text) }, headers: new Headers() };
}

/**
 * The entity's event before; null where there is none.
 *
 * @param {string} stream
 * @param {number} sequence
 * @returns {Promise<WithHeaders<{ sequence: number, event: LoggedEvent } | null>>}
 */
async function readBefore(stream, sequence) {
  const response = await responseOf(`/log/${stream}/events/${sequence}/previous`);
  const { headers, status, url } = response;
  if (status === 204) return { body: null, headers };
  const body = await response.json();
  if (!response.ok) throw new Refused(body.error ?? `it answers ${status}`, status);
  return { body: { sequence: Number(url.split('/').at(-1)), event: body }, headers };
}

/**
 * Fields of two values by their paths.
 *
 * @param {unknown} value
 * @param {string} [path]
 * @returns {Map<string, string>}
 */
function fieldsOf(value, path = '') {
  if (value === null || typeof value !== 'object') return new Map([[path, JSON.stringify(value) ?? '']]);
  return new Map(
    Object.entries(value).flatMap(([name, inner]) => [...fieldsOf(inner, path === '' ? name : `${path}.${name}`)]),
  );
}

/** @param {{ stream: string, sequence: number, event: LoggedEvent }} props */
function Difference({ stream, sequence, event }) {
  const before = /** @type {ReadState<{ sequence: number, event: LoggedEvent } | null>} */ (
    useAnswer(`${stream} ${sequence}`, () => readBefore(stream, sequence))
  );
  if (before.body === undefined) return html`<${Outcome} of=${before} />`;
  if (before.body === null) return html`<p class="quiet">It is the first event of its entity.</p>`;
  const [old, now] = [fieldsOf(before.body.event.data), fieldsOf(event.data)];
  const changed = [...new Set([...old.keys(), ...now.keys()])].filter((path) => old.get(path) !== now.get(path));
  return html`<div class="stack">
    <p>
      <a href=${link(`/log/${stream}/${before.body.sequence}`)}>Event ${before.body.sequence}</a
      >${`, ${typeName(before.body.event.type)}, `}${moment(before.body.event.time)}
    </p>
    <${Table}
      label="Fields that differ"
      head=${['field', 'before', 'here']}
      rows=${changed.map((path) => [
        html`<span class="mono long">${path}</span>`,
        html`<span class="mono long">${old.get(path)?.slice(0, 300) ?? '–'}</span>`,
        html`<span class="mono long">${now.get(path)?.slice(0, 300) ?? '–'}</span>`,
      ])}
      empty="Nothing differs."
    />
  </div>`;
}

/** @param {PageProps} props */
export function EventPage({ parts: { stream = '', sequence: text = '' } }) {
  const sequence = Number(text);
  const logs = /** @type {ReadState<LogsAnswer>} */ (useRead('/v1/logs')).body;
  const log = logs?.logs.find((one) => one.stream === stream);
  const answer = /** @type {ReadState<Known>} */ (useAnswer(`${stream} ${text}`, () => readEvent(stream, sequence)));
  const known = answer.body;
  return html`<article class="stack">
    <h1>${stream} ${number(sequence)}</h1>
    <p class="pager">
      ${sequence > 1 ? html`<a rel="prev" href=${link(`/log/${stream}/${sequence - 1}`)}>Before</a>` : ''}
      ${log && sequence < log.size ? html`<a rel="next" href=${link(`/log/${stream}/${sequence + 1}`)}>After</a>` : ''}
      <a href=${link(`/log/${stream}`, { last: text })}>In the log</a>
    </p>
    <${Outcome} of=${answer}
      >${known ? html`<${EventSheets} known=${known} stream=${stream} sequence=${sequence} />` : ''}<//
    >
    <${Json} paths=${[`/log/${stream}/events/${text}`, `/log/${stream}/proofs/${text}`]} />
  </article>`;
}

/** @param {{ known: Known, stream: string, sequence: number }} props */
function EventSheets({ known, stream, sequence }) {
  const { event, verdict } = known;
  const word = verdict.slice(0, verdict.indexOf(':'));
  return html`<div class="stack">
    <${Sheet} title=${typeName(event.type)} label="Event">
      <${Facts}
        of=${[
          ['entity', html`<${EntityLink} event=${event} />`],
          ['written', html`<${Time} at=${event.time} isFull=${true} />`],
          ['id', html`<span class="mono">${event.id}</span>`],
          [
            'proof',
            html`<${State} word=${word} />${' '}
              <span class="quiet">${verdict.slice(word.length + 2)}, checked in this browser</span>`,
          ],
        ]}
      />
    <//>
    <div class="columns">
      <${Sheet} title="Data"><${Code} value=${event.data} label="Data" /><//>
      <${Sheet} title="Difference to the entity’s event before">
        <${Difference} stream=${stream} sequence=${sequence} event=${event} />
      <//>
    </div>
    <${Sheet} title="Causes and effects" note="within the public logs"><${Links} event=${event} /><//>
  </div>`;
}
