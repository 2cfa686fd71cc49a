import { fail } from '../rest/answer.ts';
import type { Condition } from './transaction-index.ts';

const maxLength = 2048;
const maxConditions = 16;

const grammar = /\s*([A-Za-z_][\w.]*)\s*(?:(EXISTS)(?=\s|$)|(>=|<=|=|>|<)\s*(?:'([^']*)'|([^\s']+)))\s*/y;

/**
 * Reads a search: terms such as `action_registered.action_id=7`, quoted or not, `… EXISTS`, `tx.height>=37`, joined by
 * `AND`.
 *
 * Fails as the chain does, with 500 and code 13, on anything else and on what is longer than any sensible search.
 */
export function parseQuery(text: string): Condition[] {
  if (text.trim() === '') fail(13, 'query cannot be empty');
  if (text.length > maxLength) fail(13, `failed to search for txs: query is longer than ${maxLength} characters`);
  if (text.includes('\0')) fail(13, 'failed to search for txs: no value holds a zero byte');
  const conditions: Condition[] = [];
  for (let at = 0; at < text.length;) {
    if (conditions.length > 0) at = afterAnd(text, at);
    grammar.lastIndex = at;
    const match = grammar.exec(text);
    if (!match) return fail(13, `failed to search for txs: offset ${text.length}: EOF`);
    const [all, key = '', exists, operator = '', quoted, bare] = match;
    conditions.push({ key, operator: exists ? 'EXISTS' : operatorOf(operator), value: quoted ?? bare ?? '' });
    if (conditions.length > maxConditions) fail(13, `failed to search for txs: more than ${maxConditions} conditions`);
    at += all.length;
  }
  return conditions;
}

function afterAnd(text: string, at: number): number {
  const joint = /AND\s+/y;
  joint.lastIndex = at;
  const match = joint.exec(text);
  if (!match) return fail(13, `failed to search for txs: offset ${at}: expected AND`);
  return at + match[0].length;
}

function operatorOf(text: string): Condition['operator'] {
  switch (text) {
    case '>=':
    case '<=':
    case '>':
    case '<':
      return text;
    default:
      return '=';
  }
}
