/** Groups of methods, each of which an operator can serve or not. */
export const namespaces = ['eth', 'net', 'web3', 'rpc', 'debug', 'txpool', 'ots', 'trace', 'testing'] as const;
export type Namespace = (typeof namespaces)[number];
