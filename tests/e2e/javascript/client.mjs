// The JavaScript SDK's client: reads {card, keys, binding, token} as JSON from its argument, does once what an application
// does, and prints what came of it as one JSON object.

import { AgentCard, ListTasksRequest, SendMessageRequest, StreamResponse, Task, verifyAgentCardSignature } from "@a2a-js/sdk";
import * as sdk from "@a2a-js/sdk/client";

const asked = JSON.parse(process.argv[2]);

const fetchImpl = (url, options = {}) => {
  const headers = new Headers(options.headers);
  if (asked.token) headers.set("authorization", `Bearer ${asked.token}`);
  return fetch(url, { ...options, headers });
};

const verify = verifyAgentCardSignature(async (kid) => {
  const { keys } = await (await fetch(asked.keys)).json();
  return keys.find((key) => key.kid === kid);
});

const saying = (text) =>
  SendMessageRequest.fromJSON({ message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } });

const outcome = (promise) => promise.then(() => "done", (error) => error.name);

const served = await (await fetchImpl(asked.card)).json();
const card = await new sdk.DefaultAgentCardResolver({ fetchImpl }).resolve(asked.card, "");
const client = await new sdk.ClientFactory(
  sdk.ClientFactoryOptions.createFrom(sdk.ClientFactoryOptions.default, {
    transports: [new sdk.JsonRpcTransportFactory({ fetchImpl }), new sdk.RestTransportFactory({ fetchImpl })],
    preferredTransports: [asked.binding],
  }),
).createFromAgentCard(card);

const forged = { ...served, description: `${served.description}!` };
const task = await client.sendMessage(saying("from JavaScript"));
const updates = [];
for await (const update of client.sendMessageStream(saying("é 🎉"))) updates.push(StreamResponse.toJSON(update));

console.debug = () => {}; // where the SDK tells of each signature that is none
console.log(
  JSON.stringify({
    binding: client.transport.protocolName,
    card: served,
    read: AgentCard.toJSON(card),
    genuine: await outcome(verify(served)),
    forged: await outcome(verify(forged)),
    parsed: await outcome(verify(card)),
    extended: await outcome(client.getAgentCard({}, verify)),
    sent: Task.toJSON(task),
    updates,
    found: Task.toJSON(await client.getTask({ id: task.id })),
    listed: (await client.listTasks(ListTasksRequest.fromJSON({ contextId: task.contextId }))).tasks.map(({ id }) => id),
    cancelled: await outcome(client.cancelTask({ id: task.id })),
    unknown: await outcome(client.getTask({ id: crypto.randomUUID() })),
  }),
);
