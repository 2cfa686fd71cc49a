/**
 * Drives viem against a running service: sends a transfer of a development account, watches its receipt and the blocks.
 *
 *   node viem.mjs <http address> <chain id> <private key> <recipient>
 */
import { createPublicClient, createWalletClient, defineChain, http, parseEther } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const [url, chainId, key, to] = process.argv.slice(2);
const chain = defineChain({
  id: Number(chainId),
  name: 'local network',
  nativeCurrency: { name: 'Lume', symbol: 'LUME', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
});
const account = privateKeyToAccount(key);
const reader = createPublicClient({ chain, transport: http(url), pollingInterval: 200 });
const wallet = createWalletClient({ account, chain, transport: http(url) });

const before = await reader.getBalance({ address: to });
const hash = await wallet.sendTransaction({ to, value: parseEther('1.5') });
const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 30_000 });
const transaction = await reader.getTransaction({ hash });
const block = await reader.getBlock({ blockHash: receipt.blockHash });
const after = await reader.getBalance({ address: to });

process.stdout.write(
  JSON.stringify({
    hash,
    status: receipt.status,
    from: receipt.from,
    gasUsed: String(receipt.gasUsed),
    isInBlock: block.transactions.includes(hash),
    number: Number(receipt.blockNumber),
    nonce: transaction.nonce,
    moved: String(after - before),
  }),
);
