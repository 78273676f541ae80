// The parsed request of `ridge plan` and `ridge size`: a model, how and on what it would run, and the questions about
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "catalogue/catalogue.h"
#include "limits/nvidia_gpu.h"
#include "llm/search.h"
#include "model/reader.h"
#include "plan/plan.h"
#include "predict/batch_curve.h"
#include "sizing/capacity.h"
#include "sizing/training.h"
#include "sizing/training_speed.h"

namespace ridge::app {

// The time of one run, if it is neither measured nor estimated; at most one of the two.
struct ServiceRequest {
  std::optional<double> ms;
  std::string from;  // file with the JSON of `ridge bench MODEL`: its mean latency
};

// Instances and machines for a load.
struct LoadRequest {
  sizing::Load goal;
  std::optional<int> instances_per_machine;  // absent: the number that memory and threads allow
};

// Replaces published or assumed figures of the cost; [W], shares, [$] as in sizing::EconomicInputs.
struct CostRequest {
  std::optional<double> power_w, load_factor, idle_factor, pue, kwh_usd, years, utilisation, staff_percent, rented,
      price_usd, hour_usd;
};

struct MemoryRequest {
  std::optional<double> limit_bytes;  // absent: the device's
};

struct TrainingRequest {
  sizing::TrainingSetup setup;
  sizing::Link link;
  std::optional<double> overlap;     // share
  std::optional<double> efficiency;  // share of the peak
};

// A language model served by an engine on GPUs of the catalogue.
struct ServingRequest {
  std::vector<std::string> gpus;     // names; empty: no serving is asked for
  std::vector<std::string> engines;  // empty: all
  std::vector<std::string> weights;  // formats; empty: as published
  llm::Split split, prefill;
  std::vector<std::string> deployments;  // "aggregated", "disaggregated"; empty: both
  std::optional<int64_t> prefill_workers, decode_workers;
  std::string cache_link;  // from prefill to decode workers, as --link; empty: the GPUs' own, or a network beyond it
  int64_t most_gpus = 8;
  int64_t concurrency = 0;                // 0: the search chooses
  std::optional<int64_t> prompt, output;  // [tokens]
  double spread_percent = 20;             // lengths are uniform from so much less to the given ones
  std::string trace;                      // file: seconds, prompt, output per row
  std::optional<double> ttft_ms, tpot_ms;
  double percentile = 50;
  double prefix_hit_percent = 0;
  int64_t chunk_tokens = 0;
  int64_t most_sequences = 0;
  int64_t receive_interval = 1;
  int64_t batch_wait_steps = 0;
  double batch_wait_percent = 90;
  int64_t draft_tokens = 0;
  double acceptance_percent = 70;
  std::string model_id;   // that the engine loads: a path or an id of a hub; empty: the folder of config.json
  bool manifest = false;  // a Kubernetes manifest is asked for
};

// A language model given by its dimensions.
struct LlmRequest {
  std::string flags;  // dimensions in place of a file
  ServingRequest serving = {};
  std::optional<int64_t> context;  // [tokens] per sequence
  std::optional<int64_t> prompt;   // [tokens] of them in the prompt
  std::string weights;             // format of the weights; empty: as the precision, for an ONNX file as stored
  std::string kv;                  // format of the cache; empty: fp16, for an ONNX file as its inputs
  std::optional<double> reserve_percent;
  bool precision_given = false;  // false: an ONNX file's own counts
};

struct PlanRequest {
  std::string model;       // path; empty: dimensions only
  model::Binding binding;  // with the first batch; insists on it if one was requested
  predict::BatchRange batch;
  std::optional<int> threads;
  Precision precision = Precision::kFp32;
  std::optional<catalogue::CatalogueDevice> device;  // absent: this machine's CPU
  std::optional<limits::NvidiaGpu> gpu;              // `device` is this GPU of this machine
  std::string engine = plan::kUsualEngine;           // on the CPU
  bool fresh = false;                                // ignores stored figures of this machine
  bool measure = false;                              // runs the model too
  ServiceRequest service;
  std::optional<LoadRequest> load;
  std::optional<CostRequest> cost;
  std::optional<MemoryRequest> memory;
  std::optional<TrainingRequest> training;
  LlmRequest llm;
};

}  // namespace ridge::app
