import { describe, expect, it } from "vitest";
import { PrometheusMetrics } from "../../../../src/adapters/prometheus/prometheus-metrics.js";

async function bodyOf(metrics: PrometheusMetrics): Promise<string> {
  return (await metrics.text()).body;
}

describe("PrometheusMetrics", () => {
  it("counts runs by runner and outcome, and measures them in seconds", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: false });
    metrics.runEnded({ runner: "local", status: "completed", durationMs: 1_500 });
    metrics.runEnded({ runner: "local", status: "failed", durationMs: 500 });
    const body = await bodyOf(metrics);
    expect(body).toContain('berth_runs_total{runner="local",status="completed"} 1');
    expect(body).toContain('berth_runs_total{runner="local",status="failed"} 1');
    expect(body).toContain('berth_run_duration_seconds_sum{runner="local"} 2');
    expect(body).toContain('berth_run_duration_seconds_bucket{le="1",runner="local"} 1');
  });

  it("counts tool calls by name and outcome", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: false });
    metrics.toolCalled({ tool: "exec", ok: true, durationMs: 250 });
    metrics.toolCalled({ tool: "exec", ok: false, durationMs: 250 });
    const body = await bodyOf(metrics);
    expect(body).toContain('berth_tool_calls_total{tool="exec",outcome="ok"} 1');
    expect(body).toContain('berth_tool_calls_total{tool="exec",outcome="error"} 1');
    expect(body).toContain('berth_tool_duration_seconds_sum{tool="exec"} 0.5');
  });

  it("counts requests by route, method and status", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: false });
    metrics.requestHandled({ route: "/v1/runs/:id", method: "GET", status: 404, durationMs: 3 });
    const body = await bodyOf(metrics);
    expect(body).toContain('berth_http_requests_total{route="/v1/runs/:id",method="GET",status="404"} 1');
    expect(body).toContain('berth_http_request_duration_seconds_count{route="/v1/runs/:id",method="GET"} 1');
  });

  it("counts exported files and their bytes by kind", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: false });
    metrics.fileExported({ kind: "image", sizeBytes: 100 });
    metrics.fileExported({ kind: "image", sizeBytes: 23 });
    const body = await bodyOf(metrics);
    expect(body).toContain('berth_exported_files_total{kind="image"} 2');
    expect(body).toContain('berth_exported_bytes_total{kind="image"} 123');
  });

  it("reads gauges when it is asked, the last reader of each", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: false });
    let boxes = 1;
    metrics.observe("boxes_awake", () => 99);
    metrics.observe("boxes_awake", () => boxes);
    metrics.observe("runs_active", () => 7);
    boxes = 3;
    const body = await bodyOf(metrics);
    expect(body).toContain("berth_boxes_awake 3");
    expect(body).toContain("berth_runs_active 7");
  });

  it("gives the text format of Prometheus, with figures of the process where they are wanted", async () => {
    const metrics = new PrometheusMetrics({ ofProcess: true });
    const { contentType, body } = await metrics.text();
    expect(contentType).toMatch(/^text\/plain; version=/);
    expect(body).toContain("process_resident_memory_bytes");
    expect(await bodyOf(new PrometheusMetrics({ ofProcess: false }))).not.toContain("process_");
  });

  it("keeps the figures of two services in one process apart", async () => {
    const first = new PrometheusMetrics({ ofProcess: false });
    const second = new PrometheusMetrics({ ofProcess: false });
    first.toolCalled({ tool: "exec", ok: true, durationMs: 1 });
    expect(await bodyOf(second)).not.toContain('tool="exec"');
  });
});
