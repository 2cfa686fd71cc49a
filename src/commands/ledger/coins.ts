/**
 * Balances are counted in alume, of 18 decimals, as the EVM counts; messages and the chain REST speak of ulume, of six.
 *
 * One ulume is this many alume.
 */
const alumePerUlume = 10n ** 12n;

/** An amount of ulume, as balances are counted. */
export function alumeOf(ulume: bigint): bigint {
  return ulume * alumePerUlume;
}

/**
 * A balance in ulume, what is less than one cut off.
 *
 * @example ulumeOf(1_999_999_999_999n) // 1n
 */
export function ulumeOf(alume: bigint): bigint {
  return alume / alumePerUlume;
}
