// The server's metrics as Prometheus text (exposition format 0.0.4), with the names that Triton made customary.
//
// Pure: a snapshot of counters in, text out. Who keeps the counters fills the snapshot when somebody asks; nothing is
// counted twice, so metrics and statistics cannot disagree. Every family's meaning and unit: docs/contracts.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/cards.h"
#include "telemetry/host.h"

namespace ridge::telemetry {

// Of one version of one model, since it was loaded.
struct ModelSample {
  std::string model;
  std::string version;
  std::vector<std::pair<std::string, std::string>> tags;  // become labels "_<key>"

  uint64_t success = 0;                                                        // requests
  uint64_t rejected = 0, cancelled = 0, backend_failed = 0, other_failed = 0;  // requests
  uint64_t inferences = 0;                                                     // rows
  uint64_t executions = 0;                                                     // engine runs
  uint64_t request_ns = 0, queue_ns = 0, compute_input_ns = 0, compute_infer_ns = 0, compute_output_ns = 0;  // sums
  uint64_t pending = 0;  // requests waiting now
  double load_seconds = 0;

  // Latency histogram: upper bounds [s], the last infinite, and how many requests took at most that long.
  std::vector<double> latency_bounds_s;
  std::vector<uint64_t> latency_counts;
  double latency_sum_s = 0;
};

// Without cards there are no families of cards.
std::string prometheus_text(std::span<const ModelSample> models, const HostSample& host,
                            const std::vector<CardSample>& cards = {});

}  // namespace ridge::telemetry
