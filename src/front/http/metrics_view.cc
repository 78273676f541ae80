#include "front/http/metrics_view.h"

namespace ridge::front::http {

std::vector<telemetry::ModelSample> model_samples(const std::vector<serve::ModelStatistics>& statistics) {
  std::vector<telemetry::ModelSample> samples;
  for (const serve::ModelStatistics& model : statistics) {
    telemetry::ModelSample& sample = samples.emplace_back();
    sample.model = model.name;
    sample.version = std::to_string(model.version);
    sample.tags = model.metric_tags;
    sample.success = model.success.count;
    sample.rejected = model.rejected;
    sample.cancelled = model.cancelled;
    sample.backend_failed = model.backend_failed;
    sample.other_failed = model.other_failed;
    sample.inferences = model.inference_count;
    sample.executions = model.execution_count;
    sample.request_ns = model.success.ns;
    sample.queue_ns = model.queue.ns;
    sample.compute_input_ns = model.compute_input.ns;
    sample.compute_infer_ns = model.compute_infer.ns;
    sample.compute_output_ns = model.compute_output.ns;
    sample.pending = model.pending;
    sample.load_seconds = model.load_seconds;
    sample.latency_bounds_s = model.latency_bounds_s;
    sample.latency_counts = model.latency_counts;
    sample.latency_sum_s = model.latency_sum_s;
  }
  return samples;
}

}  // namespace ridge::front::http
