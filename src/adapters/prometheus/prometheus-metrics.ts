/** Figures of the service in the text format of Prometheus. Durations are seconds there, as its conventions ask. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics } from "../../ports/metrics.js";

const RUN_BUCKETS_SEC = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600];
const TOOL_BUCKETS_SEC = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];
const REQUEST_BUCKETS_SEC = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600];

const GAUGES = {
  runs_active: { name: "berth_runs_active", help: "Runs that are executing." },
  boxes_awake: { name: "berth_boxes_awake", help: "Boxes that are starting, ready or paused." },
} as const;

export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #runs = new Counter({
    name: "berth_runs_total",
    help: "Runs that have ended, by outcome.",
    labelNames: ["runner", "status"] as const,
    registers: [this.#registry],
  });
  readonly #runSeconds = new Histogram({
    name: "berth_run_duration_seconds",
    help: "Time from the start of a run to its end.",
    labelNames: ["runner"] as const,
    buckets: RUN_BUCKETS_SEC,
    registers: [this.#registry],
  });
  readonly #toolCalls = new Counter({
    name: "berth_tool_calls_total",
    help: "Tool calls, by outcome.",
    labelNames: ["tool", "outcome"] as const,
    registers: [this.#registry],
  });
  readonly #toolSeconds = new Histogram({
    name: "berth_tool_duration_seconds",
    help: "Duration of tool calls; those of exec are the commands.",
    labelNames: ["tool"] as const,
    buckets: TOOL_BUCKETS_SEC,
    registers: [this.#registry],
  });
  readonly #requests = new Counter({
    name: "berth_http_requests_total",
    help: "HTTP requests that were answered.",
    labelNames: ["route", "method", "status"] as const,
    registers: [this.#registry],
  });
  readonly #requestSeconds = new Histogram({
    name: "berth_http_request_duration_seconds",
    help: "Time from a request to the end of its answer, streams included.",
    labelNames: ["route", "method"] as const,
    buckets: REQUEST_BUCKETS_SEC,
    registers: [this.#registry],
  });
  readonly #files = new Counter({
    name: "berth_exported_files_total",
    help: "Files that were registered for delivery.",
    labelNames: ["kind"] as const,
    registers: [this.#registry],
  });
  readonly #fileBytes = new Counter({
    name: "berth_exported_bytes_total",
    help: "Bytes of files that were registered for delivery.",
    labelNames: ["kind"] as const,
    registers: [this.#registry],
  });

  /** @param deps.ofProcess also gives memory, processor time, open files and event loop delay of the process */
  constructor(deps: { readonly ofProcess: boolean }) {
    if (deps.ofProcess) collectDefaultMetrics({ register: this.#registry });
  }

  runEnded({ runner, status, durationMs }: Parameters<Metrics["runEnded"]>[0]): void {
    this.#runs.inc({ runner, status });
    this.#runSeconds.observe({ runner }, durationMs / 1_000);
  }

  toolCalled({ tool, ok, durationMs }: Parameters<Metrics["toolCalled"]>[0]): void {
    this.#toolCalls.inc({ tool, outcome: ok ? "ok" : "error" });
    this.#toolSeconds.observe({ tool }, durationMs / 1_000);
  }

  requestHandled({ route, method, status, durationMs }: Parameters<Metrics["requestHandled"]>[0]): void {
    this.#requests.inc({ route, method, status });
    this.#requestSeconds.observe({ route, method }, durationMs / 1_000);
  }

  fileExported({ kind, sizeBytes }: Parameters<Metrics["fileExported"]>[0]): void {
    this.#files.inc({ kind });
    this.#fileBytes.inc({ kind }, sizeBytes);
  }

  /** Shows a figure that is read whenever the text is asked for. */
  observe(gauge: keyof typeof GAUGES, read: () => number): void {
    this.#registry.removeSingleMetric(GAUGES[gauge].name);
    this.#registry.registerMetric(
      new Gauge({
        ...GAUGES[gauge],
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
