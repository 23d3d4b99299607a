/** Metrics that are kept, for tests that look at what was counted. */
import type { Metrics } from "../../src/ports/metrics.js";

export class FakeMetrics implements Metrics {
  readonly runs: Parameters<Metrics["runEnded"]>[0][] = [];
  readonly tools: Parameters<Metrics["toolCalled"]>[0][] = [];
  readonly requests: Parameters<Metrics["requestHandled"]>[0][] = [];
  readonly files: Parameters<Metrics["fileExported"]>[0][] = [];

  runEnded(run: Parameters<Metrics["runEnded"]>[0]): void {
    this.runs.push(run);
  }

  toolCalled(call: Parameters<Metrics["toolCalled"]>[0]): void {
    this.tools.push(call);
  }

  requestHandled(request: Parameters<Metrics["requestHandled"]>[0]): void {
    this.requests.push(request);
  }

  fileExported(file: Parameters<Metrics["fileExported"]>[0]): void {
    this.files.push(file);
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: "text/plain; version=0.0.4", body: "" };
  }
}
