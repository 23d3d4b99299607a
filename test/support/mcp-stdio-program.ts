/** The test server as a program: its first argument is its name. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { makeMcpServer } from "./mcp-server.js";

process.stdout.write("a line that is no message\n");
await makeMcpServer(process.argv[2] ?? "server").connect(new StdioServerTransport());
