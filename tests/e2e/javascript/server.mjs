// An agent of the JavaScript SDK's server, on a free port of loopback: it prints its base URL, and says back what it is told.

import { once } from "node:events";
import { createServer } from "node:http";

import { AGENT_CARD_PATH, AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

const echo = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const parts = userMessage.parts.map((part) => ({ text: part.content.value }));
    bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: "TASK_STATE_WORKING" } })));
    bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact: { artifactId: "a", parts } })));
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } })));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const server = createServer(app).listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${server.address().port}`;

const card = AgentCard.fromJSON({
  name: "JavaScript echo",
  description: "Says back what it is told.",
  version: "1",
  supportedInterfaces: [
    { url: `${base}/jsonrpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: `${base}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo);
const served = { requestHandler, userBuilder: UserBuilder.noAuthentication };
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/jsonrpc", jsonRpcHandler(served));
app.use("/rest", restHandler(served));

console.log(base);
