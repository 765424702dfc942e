// One client of one TypeScript SDK: `node client.mjs PACKAGE TRANSPORT MODE URL`.
//
// Each line on stdin is a JSON array, an operation and its arguments; each is answered by one line
// on stdout, {"result": …} or {"error": …}. The client lives as long as stdin is open.

import { createInterface } from 'node:readline';

process.stdin.on('end', () => process.exit());
const [library, transport, mode, url] = process.argv.slice(2);

const load = {
  sdk: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js'))
  }),
  client: () => import('@modelcontextprotocol/client')
};
const modes = {
  default: {},
  auto: { versionNegotiation: { mode: 'auto' } },
  pinned: { versionNegotiation: { mode: { pin: '2026-07-28' } } }
};

const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await load[library]();
const transports = { http: StreamableHTTPClientTransport, sse: SSEClientTransport };
const connection = new transports[transport](new URL(url));

const changes = [];
let noticed = () => {};
const client = new Client(
  { name: `typescript-${library}`, version: '7.8.9' },
  { ...modes[mode], listChanged: { tools: { onChanged } } }
);

function onChanged(error, tools) {
  changes.push(error ? String(error) : names(tools));
  noticed();
}

const names = tools => tools.map(tool => tool.name);

const operations = {
  connect: async () => {
    await client.connect(connection);
    return client.getServerVersion().name;
  },
  list: async () => names((await client.listTools()).tools),
  call: (name, args) => client.callTool({ name, arguments: args }),
  change: async () => {
    while (!changes.length) {
      await new Promise(resolve => (noticed = resolve));
    }
    return changes.shift();
  },
  terminate: () => connection.terminateSession(),
  close: () => client.close()
};

for await (const line of createInterface({ input: process.stdin })) {
  const [operation, ...words] = JSON.parse(line);
  const answer = await operations[operation](...words).then(
    result => ({ result: result ?? null }),
    error => ({ error: String(error) })
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
