/** An event's attributes by name. */
export function attributesOf(event) {
  return Object.fromEntries(event.attributes.map(({ key, value }) => [key, value]));
}

/** The one transaction with an event of an action, and that event; undefined where there is none. */
export function transactionWith(transactions, type, id) {
  const found = transactions.flatMap((transaction) =>
    transaction.events
      .filter((event) => event.type === type && attributesOf(event).action_id === id)
      .map((event) => ({ transaction, event })),
  );
  if (found.length > 1) throw new Error(`Action ${id} has ${found.length} events ${type}`);
  if (found.length === 1 && found[0].transaction.code !== 0) throw new Error(`The transaction of ${type} ${id} failed`);
  return found[0];
}

/** What an account sent within the message that an event belongs to. */
export function transfersOf({ transaction, event }, sender) {
  const index = attributesOf(event).msg_index;
  return transaction.events
    .filter(({ type }) => type === 'transfer')
    .map(attributesOf)
    .filter((transfer) => transfer.sender === sender && transfer.msg_index === index)
    .flatMap(({ recipient, amount }) => amount.split(',').map((coin) => ({ account: recipient, ...coinOf(coin) })));
}

function coinOf(text) {
  const [, amount, denom] = /^(\d+)(\D.*)$/.exec(text);
  return { denom, amount };
}
