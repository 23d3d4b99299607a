/** What an MCP server is reached by; checked by the configuration. */

export interface ServerFacts {
  readonly id: string;
  /** Whether the agent gets tools that read the server's resources. */
  readonly agentRead: boolean;
}

/** A program that speaks over its standard input and output. */
export interface StdioServer extends ServerFacts {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program beside the service. */
export interface HostProgram {
  readonly command: readonly string[];
  /** All that it gets: nothing of the service's own environment comes to it, secrets least of all. */
  readonly env: Readonly<Record<string, string>>;
}

export interface HttpServer {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
