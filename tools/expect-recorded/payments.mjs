/** Sums of what each account was paid, by denomination. */
export function paymentsByAccount(actions) {
  return sums(
    actions.flatMap((action) =>
      action.payments.map((paid) => ({ ...paid, owner: paid.account, tx: action.finalize.tx_hash })),
    ),
  );
}

/** The same for each operator whose account it was at the height of the payment. */
export function paymentsByOperator(actions, operatorAt) {
  const ownerOf = ({ account }, { finalize }) => operatorAt(account, finalize.height);
  return sums(
    actions.flatMap((action) =>
      action.payments.map((paid) => ({ ...paid, owner: ownerOf(paid, action), tx: action.finalize.tx_hash })),
    ),
  );
}

function sums(payments) {
  const groups = Map.groupBy(payments, ({ owner, denom }) => JSON.stringify([owner, denom]));
  return [...groups]
    .map(([key, group]) => {
      const [owner, denom] = JSON.parse(key);
      const total = group.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
      return {
        owner,
        denom,
        total_amount: String(total),
        transactions: new Set(group.map(({ tx }) => tx)).size,
        transfers: group.length,
      };
    })
    .toSorted((a, b) => (a.owner < b.owner ? -1 : 1));
}
