// @ts-check
import { read, whereRefused } from './read.js';

/** Decoding of calls and logs by the signatures of the system contracts and of tokens. */

/** @typedef {Readonly<{ name?: string, type: string, indexed?: boolean, components?: readonly Input[] }>} Input */
/**
 * A function or an event; what a function that changes nothing returns.
 *
 * @typedef {Readonly<{
 *   selector: string
 *   contract: string
 *   name: string
 *   inputs: readonly Input[]
 *   outputs?: readonly Input[]
 * }>} Item
 */
/** A decoded value by its name. @typedef {readonly [string, string]} Named */

const word = 64;

/** The known functions and events; none where the local network does not run. @returns {Promise<readonly Item[]>} */
export async function contractItems() {
  return await read('/contracts.json').then(
    ({ body }) => /** @type {Item[]} */ (body),
    whereRefused(() => []),
  );
}

/**
 * What a call does, or undefined for bytes of an unknown function.
 *
 * @param {readonly Item[]} items
 * @param {string} input
 */
export function decodeCall(items, input) {
  const item = items.find(({ selector }) => selector === input.slice(0, 10));
  return item && { name: item.name, values: attempt(() => named(item.inputs, decode(item.inputs, input.slice(10)))) };
}

/** What a function returned, by its names. @param {Item} item @param {string} bytes @returns {readonly Named[]} */
export function decodeResult({ outputs = [] }, bytes) {
  return attempt(() => named(outputs, decode(outputs, bytes.slice(2))));
}

/**
 * What a log says, or undefined for an unknown event.
 *
 * @param {readonly Item[]} items
 * @param {{ topics: readonly string[], data: string }} log
 */
export function decodeLog(items, { topics, data }) {
  const item = items.find(({ selector }) => selector === topics[0]);
  if (!item) return undefined;
  const values = attempt(() => {
    const bare = decode(
      item.inputs.filter(({ indexed }) => !indexed),
      data.slice(2),
    );
    const marked = topics.slice(1);
    return named(
      item.inputs,
      item.inputs.map((input) => (input.indexed ? ofTopic(input, marked.shift() ?? '') : (bare.shift() ?? ''))),
    );
  });
  return { name: item.name, values };
}

/** @param {() => readonly Named[]} work @returns {readonly Named[]} */
function attempt(work) {
  try {
    return work();
  } catch {
    // Bytes that do not fit the signature are shown as they are, beside the name.
    return [];
  }
}

/** @param {readonly Input[]} inputs @param {readonly string[]} values @returns {readonly Named[]} */
function named(inputs, values) {
  return inputs.map(({ name, type }, at) => [name || type, values[at] ?? '']);
}

/** A topic holds a value of one word, or the hash of a longer one. @param {Input} input @param {string} topic */
function ofTopic(input, topic) {
  return isDynamic(input) || input.type.endsWith(']') ? `hash ${topic}` : valueOf(input.type, topic.slice(2));
}

/** @param {Input} input @returns {boolean} */
function isDynamic({ type, components }) {
  if (type === 'string' || type === 'bytes' || type.endsWith('[]')) return true;
  return type === 'tuple' && (components ?? []).some(isDynamic);
}

/** @param {readonly Input[]} inputs @param {string} hex @returns {string[]} */
function decode(inputs, hex) {
  let at = 0;
  return inputs.map((input) => {
    if (!isDynamic(input)) {
      const text = staticValue(input, hex, at);
      at += sizeOf(input);
      return text;
    }
    const offset = 2 * Number(BigInt(`0x${hex.slice(at, at + word)}`));
    at += word;
    return dynamicValue(input, hex.slice(offset));
  });
}

/** @param {Input} input @returns {number} */
function sizeOf({ type, components }) {
  return type === 'tuple' ? (components ?? []).reduce((sum, one) => sum + sizeOf(one), 0) : word;
}

/** @param {Input} input @param {string} hex @param {number} at */
function staticValue(input, hex, at) {
  if (input.type === 'tuple') return tuple(input, hex.slice(at));
  return valueOf(input.type, hex.slice(at, at + word));
}

/** @param {Input} input @param {string} hex @returns {string} */
function dynamicValue({ type, components = [] }, hex) {
  if (type === 'tuple') return tuple({ type, components }, hex);
  const length = Number(BigInt(`0x${hex.slice(0, word)}`));
  const rest = hex.slice(word);
  if (type.endsWith('[]')) {
    const items = Array.from({ length }, () => ({ type: type.slice(0, -2), components }));
    return `[${decode(items, rest).join(', ')}]`;
  }
  const bytes = rest.slice(0, 2 * length);
  if (type === 'bytes') return `0x${bytes}`;
  return new TextDecoder().decode(Uint8Array.from(bytes.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
}

/** @param {Input} input @param {string} hex */
function tuple({ components = [] }, hex) {
  return `(${named(components, decode(components, hex))
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')})`;
}

/** @param {string} type @param {string} hex */
function valueOf(type, hex) {
  if (hex.length < word) throw new Error('The bytes end too early.');
  if (type === 'address') return `0x${hex.slice(24)}`;
  if (type === 'bool') return BigInt(`0x${hex}`) === 0n ? 'false' : 'true';
  if (type.startsWith('int')) return String(BigInt.asIntN(256, BigInt(`0x${hex}`)));
  return type.startsWith('uint') ? String(BigInt(`0x${hex}`)) : `0x${hex.slice(0, 2 * Number(type.slice(5)))}`;
}
