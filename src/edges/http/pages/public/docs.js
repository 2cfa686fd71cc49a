import { html, render, useEffect, useState } from '/assets/htm-preact.js';

/** Follows references inside the document, so that a schema can be shown in full. */
function resolve(document, schema) {
  const path = schema?.$ref?.slice(2).split('/');
  return path ? path.reduce((place, name) => place[name], document) : schema;
}

/** A text in which `code` is written between backticks. */
function withCode(text = '') {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** A type in words: `integer 1 to 200`, `string, one of a, b`, `array of object`. */
function typeInWords(schema = {}) {
  const range =
    schema.minimum !== undefined && schema.maximum !== undefined ? ` ${schema.minimum} to ${schema.maximum}` : '';
  const words = schema.enum ? `, one of ${schema.enum.join(', ')}` : '';
  const items = schema.type === 'array' ? ` of ${typeInWords(schema.items)}` : '';
  return `${schema.type ?? 'any'}${items}${range}${words}${schema.nullable ? ', or null' : ''}`;
}

function Fields({ document, schema, depth = 0 }) {
  const whole = resolve(document, schema);
  const inner = resolve(document, whole?.type === 'array' ? whole.items : whole);
  const fields = Object.entries(inner?.properties ?? {});
  if (depth > 3 || fields.length === 0) return null;
  return fields.map(([name, field]) => {
    const known = resolve(document, field);
    return html`<tr>
        <td class="mono" style=${{ paddingLeft: `${depth}rem` }}>${name}</td>
        <td>${typeInWords(known)}</td>
        <td style=${{ whiteSpace: 'normal' }}>${withCode(known.description)}</td>
      </tr>
      <${Fields} document=${document} schema=${known} depth=${depth + 1} />`;
  });
}

function Answers({ document, responses }) {
  return Object.entries(responses).map(([status, answer]) => {
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    return html`<details>
      <summary><b>${status}</b> <span class="quiet">${withCode(answer.description)}</span></summary>
      <div class="scroll">
        <table>
          <tbody>
            <${Fields} document=${document} schema=${schema} />
          </tbody>
        </table>
      </div>
    </details>`;
  });
}

function Field({ parameter, value, set }) {
  const { name, required, description, schema = {} } = parameter;
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  const change = ({ target }) => set(name, target.value);
  return html`<label>
    <span><code>${name}</code>${required ? ' (required)' : ''} <small>${typeInWords(schema)}</small></span>
    ${
      choices
        ? html`<select value=${value} onChange=${change}>
            <option value="">–</option>
            ${choices.map((one) => html`<option value=${one}>${one}</option>`)}
          </select>`
        : html`<input value=${value} placeholder=${schema.default ?? ''} onInput=${change} />`
    }
    <small>${withCode(description)}</small>
  </label>`;
}

/** The address that a filled form requests. */
function addressOf(path, parameters, values) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''));
  const given = parameters.filter(({ name, in: place }) => place === 'query' && values[name]);
  const query = new URLSearchParams(given.map(({ name }) => [name, values[name]]));
  return given.length > 0 ? `${filled}?${query}` : filled;
}

async function ask(method, address, token) {
  const began = performance.now();
  const response = await fetch(address, { method, headers: token ? { authorization: `Bearer ${token}` } : {} });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    line: `${response.status} ${response.statusText} in ${Math.round(performance.now() - began)} ms`,
    headers: [...response.headers].filter(
      ([name]) => name.startsWith('annals-') || name === 'content-type' || name === 'retry-after',
    ),
    body: isJson ? JSON.stringify(JSON.parse(text), null, 2) : text,
  };
}

function Try({ method, path, operation }) {
  const parameters = (operation.parameters ?? []).filter(({ in: place }) => place !== 'header');
  const [values, setValues] = useState({});
  const [answer, setAnswer] = useState(null);
  const needsToken = Boolean(operation.security?.length);
  const set = (name, value) => setValues((before) => ({ ...before, [name]: value }));
  const address = addressOf(path, parameters, values);
  const send = async (event) => {
    event.preventDefault();
    setAnswer(
      await ask(method, address, values.$token).catch((error) => ({ line: String(error), headers: [], body: '' })),
    );
  };
  return html`<form class="try" onSubmit=${send}>
      ${parameters.map((parameter) => html`<${Field} parameter=${parameter} value=${values[parameter.name] ?? ''} set=${set} />`)}
      ${needsToken ? html`<${Field} parameter=${{ name: '$token', description: 'SYNC_TOKEN, where one is set', schema: { type: 'string' } }} value=${values.$token ?? ''} set=${set} />` : ''}
      <button>Send</button>
    </form>
    <pre>curl ${method === 'GET' ? '' : `-X ${method} `}'${location.origin}${address}'</pre>
    ${
      answer
        ? html`<div class="stack" role="status">
            <p><b>${answer.line}</b></p>
            <pre>${answer.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
            <pre class="answer">${answer.body}</pre>
          </div>`
        : ''
    }`;
}

function Operation({ document, method, path, operation }) {
  const [open, setOpen] = useState(false);
  return html`<details class="operation" onToggle=${({ currentTarget }) => setOpen(currentTarget.open)}>
    <summary>
      <span class="method">${method}</span><code>${path}</code><span class="quiet">${operation.summary ?? ''}</span>
    </summary>
    ${
      open
        ? html`<div class="stack">
            ${operation.description ? html`<p>${withCode(operation.description)}</p>` : ''}
            <${Try} method=${method} path=${path} operation=${operation} />
            <div><${Answers} document=${document} responses=${operation.responses ?? {}} /></div>
          </div>`
        : ''
    }
  </details>`;
}

/** Operations by their first tag, in the order of the document. */
function groups(document) {
  const byTag = new Map();
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? 'Other';
      byTag.set(tag, [...(byTag.get(tag) ?? []), { path, method: method.toUpperCase(), operation }]);
    }
  return [...byTag];
}

/** Address of the description, as the page names it. */
const described = document.querySelector('link[rel=describedby]').getAttribute('href');

function Docs() {
  const [document, setDocument] = useState(null);
  useEffect(() => void fetch(described).then(async (response) => setDocument(await response.json())), []);
  if (!document) return html`<main class="page"><p class="quiet">Looking …</p></main>`;
  return html`<main class="page">
    <header class="stack">
      <div class="masthead">
        <h1><a href="/">Annals</a></h1>
        <span class="quiet">${document.info.title} ${document.info.version}</span>
        <nav><a href="/">Start page</a><a href=${described}>${described.slice(1)}</a></nav>
      </div>
      <p class="quiet">${withCode(document.info.description)}</p>
    </header>
    ${groups(document).map(
      ([tag, operations]) =>
        html`<section class="sheet">
          <h2>${tag}</h2>
          ${operations.map((one) => html`<${Operation} document=${document} ...${one} />`)}
        </section>`,
    )}
  </main>`;
}

const page = document.getElementById('page');
page.replaceChildren();
render(html`<${Docs} />`, page);
