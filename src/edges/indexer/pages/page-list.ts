/**
 * A page of the explorer: its path, where `:name` is a part of it, and the JSON that it shows, which it links to also
 * where no script runs.
 */
export type ExplorerPage = Readonly<{ path: string; title: string; data: readonly string[] }>;

/** Every page of the explorer; its script decides by the same paths what it shows. */
export const explorerPages: readonly ExplorerPage[] = [
  {
    path: '/',
    title: 'Annals',
    data: ['/v1/actions', '/v1/supernodes/metrics', '/v1/logs', '/readyz', '/openapi.json'],
  },
  { path: '/search', title: 'Search', data: ['/openapi.json'] },
  { path: '/actions', title: 'Actions', data: ['/v1/actions?include_transactions=true', '/v1/actions/stats'] },
  { path: '/actions/:id', title: 'Action :id', data: ['/v1/actions/:id', '/v1/actions/:id/versions'] },
  { path: '/nodes', title: 'SuperNodes', data: ['/v1/supernodes/metrics', '/v1/supernodes/stats'] },
  {
    path: '/nodes/:id',
    title: 'SuperNode :id',
    data: ['/v1/supernodes/:id/metrics', '/v1/supernodes/:id/paymentInfo', '/v1/actions?supernode=:id'],
  },
  { path: '/log', title: 'Log', data: ['/v1/logs'] },
  { path: '/log/:stream', title: 'Log :stream', data: ['/log/:stream/checkpoint', '/log/:stream/vkey'] },
  {
    path: '/log/:stream/:sequence',
    title: 'Event :stream :sequence',
    data: ['/log/:stream/events/:sequence', '/log/:stream/proofs/:sequence'],
  },
  { path: '/models', title: 'Read models', data: ['/models.json', '/readyz'] },
  { path: '/chain', title: 'Chain', data: ['/chain.json', '/evm.json?method=eth_blockNumber'] },
  {
    path: '/chain/blocks/:number',
    title: 'Block :number',
    data: ['/evm.json?method=eth_getBlockByNumber&params=[":number",true]'],
  },
  {
    path: '/chain/transactions/:hash',
    title: 'Transaction :hash',
    data: [
      '/evm.json?method=eth_getTransactionByHash&params=[":hash"]',
      '/evm.json?method=eth_getTransactionReceipt&params=[":hash"]',
    ],
  },
  {
    path: '/chain/addresses/:address',
    title: 'Address :address',
    data: [
      '/evm.json?method=eth_getBalance&params=[":address","latest"]',
      '/evm.json?method=eth_getCode&params=[":address","latest"]',
      '/evm.json?method=eth_getProof&params=[":address",[],"latest"]',
    ],
  },
  { path: '/transfers', title: 'Transfers', data: ['/transfers.json'] },
  { path: '/verify', title: 'Verify', data: ['/v1/logs'] },
];

/** The page as HTML for one request: title and links, with the parts of its path filled in. */
export function htmlOf(template: string, page: ExplorerPage, parts: Readonly<Record<string, string>>): string {
  const title = filled(page.title, (name) => parts[name] ?? '');
  const links = page.data
    .map((one) => filled(one, (name) => encodeURIComponent(forRequest(name, parts[name] ?? ''))))
    .map((href) => `<li><a href="${escaped(href)}">${escaped(href)}</a></li>`);
  return template
    .replace('<!-- title -->', () => escaped(title === 'Annals' ? title : `${title} · Annals`))
    .replace('<!-- data -->', () => links.join('\n          '));
}

/** JSON-RPC writes numbers as hex. */
function forRequest(name: string, value: string): string {
  return name === 'number' && /^\d{1,15}$/.test(value) ? `0x${Number(value).toString(16)}` : value;
}

function filled(text: string, valueOf: (name: string) => string): string {
  return text.replace(/:([a-z]+)/g, (_match, name: string) => valueOf(name));
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? '');
}
