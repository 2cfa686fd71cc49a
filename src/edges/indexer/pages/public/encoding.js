// @ts-check
/** @import { Input, Item } from './decoding.js' */

/** Encoding of calls from what people enter: words, texts and bytes. */

const wordDigits = 64;

/** Whether a field can hold every argument of a function. @param {Item} item */
export function canBeEntered({ inputs }) {
  return inputs.every(({ type }) => /^(address|bool|string|u?int\d+|bytes\d*)$/.test(type));
}

/**
 * The bytes of a call. Fails, in words, for a text that is no value of its type.
 *
 * @param {Item} item
 * @param {readonly string[]} texts One for each argument.
 */
export function encodeCall({ selector, inputs }, texts) {
  let tails = '';
  const heads = inputs.map((input, at) => {
    const hex = encoded(input, (texts[at] ?? '').trim());
    if (input.type !== 'string' && input.type !== 'bytes') return hex;
    const offset = inputs.length * (wordDigits / 2) + tails.length / 2;
    const padded = Math.ceil(hex.length / wordDigits) * wordDigits;
    tails += word(BigInt(hex.length / 2)) + hex.padEnd(padded, '0');
    return word(BigInt(offset));
  });
  return `${selector}${heads.join('')}${tails}`;
}

/** @param {bigint} value */
function word(value) {
  return BigInt.asUintN(256, value).toString(16).padStart(wordDigits, '0');
}

/** @param {Input} input @param {string} text */
function encoded({ name, type }, text) {
  const refuse = (/** @type {string} */ what) => new Error(`${name || type} takes ${what}.`);
  if (type === 'string') return hexOf(new TextEncoder().encode(text));
  if (type === 'bool') {
    if (!/^(true|false)$/.test(text)) throw refuse('true or false');
    return word(text === 'true' ? 1n : 0n);
  }
  if (type.startsWith('bytes')) {
    const most = type === 'bytes' ? '*' : `{${Number(type.slice(5))}}`;
    if (!new RegExp(`^0x([\\da-f]{2})${most}$`, 'i').test(text)) throw refuse(`${type} as 0x and hexadecimal digits`);
    return type === 'bytes' ? text.slice(2) : text.slice(2).padEnd(wordDigits, '0');
  }
  if (type === 'address') {
    if (!/^0x[\da-f]{40}$/i.test(text)) throw refuse('an address, 0x and 40 hexadecimal digits');
    return word(BigInt(text));
  }
  return number(type, text, refuse);
}

/** @param {string} type @param {string} text @param {(what: string) => Error} refuse */
function number(type, text, refuse) {
  const isSigned = type.startsWith('int');
  const bits = Number(type.replace(/^u?int/, ''));
  if (!/^(-?\d{1,80}|0x[\da-f]{1,64})$/i.test(text)) throw refuse('a number');
  const value = BigInt(text);
  const fits = isSigned ? BigInt.asIntN(bits, value) === value : BigInt.asUintN(bits, value) === value;
  if (!fits) throw refuse(`a number of ${type}`);
  return word(value);
}

/** @param {Uint8Array} bytes */
function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
