// @ts-check
/** @import { Markup } from './htm-preact.d.ts' */
/** @import { LoggedEvent, ReadState } from './answers.d.ts' */
import { html, useEffect, useState } from '/assets/htm-preact.js';
import { age, entityPath, moment, short, start, tone } from './format.js';
import { link } from './router.js';

/** What pages are made of. */

/**
 * A column of a table: its name, and whether it holds numbers.
 *
 * @typedef {string | { name: string, isNumber?: boolean }} Column
 */

/** A titled part of a page. @param {{ title: Markup, note?: Markup, children?: Markup, label?: string }} props */
export function Sheet({ title, note, children, label }) {
  return html`<section class="sheet stack" aria-label=${label ?? (typeof title === 'string' ? title : undefined)}>
    <h2>${title} ${note ? html`<small>${note}</small>` : ''}</h2>
    ${children}
  </section>`;
}

/**
 * A table that becomes cards on a narrow screen; the roles keep it a table for readers of screens.
 *
 * @param {{ label: string, head: readonly Column[], rows: readonly (readonly Markup[])[], empty?: string }} props
 */
export function Table({ label, head, rows, empty = 'There is none.' }) {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  const columns = head.map((one) => (typeof one === 'string' ? { name: one, isNumber: false } : one));
  return html`<table class="cards" role="table" aria-label=${label}>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(({ name, isNumber }) => html`<th role="columnheader" scope="col" class=${isNumber ? 'number' : ''}>${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (cells) =>
          html`<tr role="row">
            ${cells.map(
              (cell, at) =>
                html`<td role="cell" data-name=${columns[at]?.name} class=${columns[at]?.isNumber ? 'number' : ''}>
                  <span>${cell}</span>
                </td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Names and values. @param {{ of: readonly (readonly [string, Markup] | false | undefined | '')[] }} props */
export function Facts({ of }) {
  return html`<dl class="facts">
    ${of.map(
      (one) =>
        one &&
        html`<div>
          <dt>${one[0]}</dt>
          <dd>${one[1] ?? '–'}</dd>
        </div>`,
    )}
  </dl>`;
}

/** A state in words, with its colour and a mark for those who do not see it. @param {{ word: string }} props */
export function State({ word }) {
  const shade = tone(word);
  const mark = shade === 'good' ? '●' : shade === 'bad' ? '▲' : '○';
  return html`<span class=${`state ${shade}`}><span aria-hidden="true">${mark}</span> ${word}</span>`;
}

/**
 * A moment: how long ago, or the moment itself with its age.
 *
 * @param {{ at: string | null | undefined, isFull?: boolean }} props
 */
export function Time({ at, isFull = false }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((before) => before + 1), 5000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return '–';
  return isFull
    ? html`<time datetime=${at}>${moment(at)} <span class="quiet">${age(at)}</span></time>`
    : html`<time datetime=${at} title=${moment(at)}>${age(at)}</time>`;
}

/** @param {{ id: string }} props */
export function NodeLink({ id }) {
  return html`<a class="mono" href=${link(`/nodes/${id}`)} title=${id}>${short(id)}</a>`;
}

/** An event's entity, with its page where it has one. @param {{ event: LoggedEvent, isShort?: boolean }} props */
export function EntityLink({ event: { type, subject }, isShort = false }) {
  const to = entityPath(type, subject);
  const name = isShort ? short(subject) : subject;
  return to
    ? html`<a class="mono long" href=${link(to)} title=${subject}>${name}</a>`
    : html`<span class="mono long">${name}</span>`;
}

/** An account's actions. @param {{ address: string }} props */
export function AccountLink({ address }) {
  return html`<a class="mono" href=${link('/actions', { creator: address })} title=${address}>${short(address)}</a>`;
}

/**
 * A transaction of the chain, by the search, which knows where it is shown.
 *
 * @param {{ hash: string | null, isFull?: boolean }} props
 */
export function HashLink({ hash, isFull = false }) {
  if (!hash) return '–';
  return html`<a class="mono" href=${link('/search', { q: hash })} title=${hash}>${isFull ? hash : start(hash)}</a>`;
}

/** When what failed for a moment is read again. @param {{ of: ReadState<any> }} props */
export function Again({ of: { againInMs } }) {
  return againInMs === undefined ? '' : html`<span class="quiet">Trying again in ${againInMs / 1000} s.</span>`;
}

/** What an answer made, or why there is none. @param {{ of: ReadState<any>, children?: Markup }} props */
export function Outcome({ of, children }) {
  if (of.failure) return html`<p class="bad" role="alert">${of.failure} <${Again} of=${of} /></p>`;
  if (of.body === undefined) return html`<p class="quiet" role="status">Reading …</p>`;
  return html`<div class="stack" aria-busy=${of.isLoading}>${children}</div>`;
}

/** Where a page's data are for programs. @param {{ paths: readonly string[] }} props */
export function Json({ paths }) {
  return html`<p class="json quiet">JSON: ${paths.map((path) => html`<a href=${path}>${path}</a> `)}</p>`;
}

/** JSON as text. @param {{ value: unknown, label: string }} props */
export function Code({ value, label }) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>
${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>`;
}

/** What was entered in a field. @param {FormData} form @param {string} name */
export function textOf(form, name) {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
