import { bech32 } from '@scure/base';
import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { shown } from '../../http/parameters.ts';

/** A SuperNode's Bech32 operator address, as answers and paths have it. */
export const operatorAddress = Type.String({ description: 'Bech32 operator address.' });

/** The form of an address in lower case or in capitals; its checksum is read besides. */
export const addressPattern = '^(?:[a-z]{1,40}1[02-9ac-hj-np-z]{6,80}|[A-Z]{1,40}1[02-9AC-HJ-NP-Z]{6,80})$';

/** A Bech32 address whose checksum holds, in lower case. */
export type Address = Readonly<{ text: string; prefix: string }>;

const longest = 128;

/** Reads a parameter that is a Bech32 address of any prefix; `INVALID_ARGUMENT` where the checksum fails. */
export function parseAddress(name: string, text: string): Address {
  const decoded = text.length <= longest ? bech32.decodeUnsafe(text, longest) : undefined;
  if (!decoded)
    throw new AppError(
      'INVALID_ARGUMENT',
      `${name} is ${shown(text)}; it takes a Bech32 address, and its checksum does not hold.`,
    );
  return { text: text.toLowerCase(), prefix: decoded.prefix };
}
