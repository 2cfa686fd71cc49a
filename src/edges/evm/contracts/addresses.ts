/** Addresses of the system contracts, as the real network has them. */
export const contractAddresses = {
  action: `0x${'0901'.padStart(40, '0')}`,
  supernode: `0x${'0902'.padStart(40, '0')}`,
} as const;
