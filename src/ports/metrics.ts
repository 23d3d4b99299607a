/** Counts and durations for operators; never anything of a user (api §7 `/metrics`). */
import type { DeliveryKind } from "../domain/delivery.js";
import type { TerminalState } from "../domain/run.js";

export interface Metrics {
  runEnded(run: {
    readonly runner: string;
    readonly status: TerminalState;
    readonly durationMs: number;
  }): void;
  toolCalled(call: { readonly tool: string; readonly ok: boolean; readonly durationMs: number }): void;
  /** `route` is the pattern, never the path. */
  requestHandled(request: {
    readonly route: string;
    readonly method: string;
    readonly status: number;
    readonly durationMs: number;
  }): void;
  fileExported(file: { readonly kind: DeliveryKind; readonly sizeBytes: number }): void;
  /** In the Prometheus text format. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
}
