// Predictions for measured runs of language-model servers; `benchmarks/silicon.py` drives it and judges them.
//
// The columns of serving_disaggregated.csv put prompts and tokens on workers of their own; the batch is one decode
// worker's.
// usage: silicon SERVING.csv CONFIGS [--without DEVICE] [--constant ENGINE.NAME=VALUE]...
// It prints a row for each: its id, the predicted means, whether the
// memory holds one sequence by the engine's rule, the mean batch, and the kernels of a decode step of it.
// CONFIGS: a folder with a config.json per model, MODEL.json. --without leaves a device's own kernel laws out.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/csv.h"
#include "base/file.h"
#include "catalogue/catalogue.h"
#include "catalogue/data.h"
#include "checkpoint/config.h"
#include "llm/serving.h"

namespace {

using namespace ridge;

[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "silicon: {}\n", why);
  std::exit(3);
}

template <typename T>
T need(Result<T> result) {
  if (!result) stop(result.error().message);
  return *std::move(result);
}

struct Row {
  const Csv& csv;
  const std::vector<std::string>& values;
  const std::string& text(std::string_view column) const {
    const int i = csv.column(column);
    if (i < 0) stop(fmt::format("no column {}", column));
    return values[static_cast<size_t>(i)];
  }
  double number(std::string_view column) const { return std::atof(text(column).c_str()); }
  int64_t whole(std::string_view column) const { return std::atoll(text(column).c_str()); }
};

checkpoint::WeightFormat format_of(const std::string& name) {
  static const std::map<std::string, checkpoint::WeightFormat> kNames = {
      {"bfloat16", checkpoint::WeightFormat::kBf16},      {"fp8", checkpoint::WeightFormat::kFp8},
      {"fp8_block", checkpoint::WeightFormat::kFp8Block}, {"nvfp4", checkpoint::WeightFormat::kNvfp4},
      {"w4a16_mxfp4", checkpoint::WeightFormat::kMxfp4},  {"w4a8_mxfp4_mxfp8", checkpoint::WeightFormat::kMxfp4},
      {"int4_wo", checkpoint::WeightFormat::kInt4},       {"", checkpoint::WeightFormat::kBf16}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) stop("unknown form of weights " + name);
  return found->second;
}

double* constant(llm::EngineCosts& costs, const std::string& name) {
  static const std::map<std::string, double llm::EngineCosts::*> kNames = {
      {"kernel_us", &llm::EngineCosts::kernel_us},         {"eager_kernel_us", &llm::EngineCosts::eager_kernel_us},
      {"graph_tokens", &llm::EngineCosts::graph_tokens},   {"sequence_us", &llm::EngineCosts::sequence_us},
      {"prompt_factor", &llm::EngineCosts::prompt_factor}, {"token_us", &llm::EngineCosts::token_us},
      {"router_ms", &llm::EngineCosts::router_ms},         {"handover_ms", &llm::EngineCosts::handover_ms},
      {"start_share", &llm::EngineCosts::start_share},     {"lag_steps", &llm::EngineCosts::lag_steps},
      {"steps_ahead", &llm::EngineCosts::steps_ahead},     {"fixed_ms", &llm::EngineCosts::fixed_ms}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) stop("unknown constant " + name);
  return &(costs.*(found->second));
}

// Kernels of a decode step of the mean batch [ms].
constexpr const char* kParts[] = {"query, key, value",
                                  "query up",
                                  "latent up",
                                  "output",
                                  "feed-forward",
                                  "shared expert",
                                  "router",
                                  "experts",
                                  "attention, decode",
                                  "all-reduce",
                                  "gather, scatter",
                                  "elementwise",
                                  "head",
                                  "engine"};

struct Options {
  std::string serving, configs, without;
  std::map<llm::EngineKind, llm::EngineCosts> costs;
};

Options options_of(int count, char** arguments) {
  Options options;
  if (count < 3) stop("usage: silicon SERVING.csv CONFIGS [--without DEVICE] [--constant ENGINE.NAME=VALUE]...");
  options.serving = arguments[1];
  options.configs = arguments[2];
  for (const auto& [kind, name] : llm::names_of(llm::EngineKind{})) options.costs[kind] = llm::costs_of(kind);
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string option = arguments[i], value = arguments[i + 1];
    if (option == "--without") {
      options.without = value;
    } else if (option == "--constant") {
      const size_t dot = value.find('.'), equals = value.find('=');
      if (dot == std::string::npos || equals == std::string::npos) stop("--constant ENGINE.NAME=VALUE, not " + value);
      for (auto& [kind, costs] : options.costs) {
        const std::string engine = value.substr(0, dot), name(name_of(llm::names_of(kind), kind));
        if (engine == "all" || engine == name)
          *constant(costs, value.substr(dot + 1, equals - dot - 1)) = std::atof(value.c_str() + equals + 1);
      }
    } else {
      stop("unknown option " + option);
    }
  }
  return options;
}

// vLLM before 0.14, which also launched prompts with more of the host's work; fitted to those rows. Images without a
// version are of 2025.
bool before_asynchronous_scheduling(const Row& row) {
  const std::string& version = row.text("engine_version");
  return version.empty() || (version.starts_with("0.") && std::atoi(version.c_str() + 2) < 14);
}

llm::Deployment deployment_of(const Row& row, const Options& options, std::map<std::string, llm::Model>& models,
                              std::map<std::string, llm::Gpu>& gpus, const llm::Parallel& parallel) {
  llm::Deployment d;
  const std::string& model = row.text("model");
  if (!models.contains(model)) {
    const std::string path = options.configs + "/" + model + ".json";
    const Json json = need(parse_json(need(read_file(path)), path));
    models[model] = need(checkpoint::config_from_json(json, model)).model;
  }
  const std::string& device = row.text("device");
  if (!gpus.contains(device)) {
    const auto devices = need(catalogue::catalogue());
    gpus[device] = need(
        llm::gpu_of(need(catalogue::find_device(devices, device)), catalogue::data("kernel_laws"), options.without));
  }
  d.model = models[model];
  d.gpu = gpus[device];
  d.formats = {format_of(row.text("attention_weights")), format_of(row.text("feed_forward_weights")),
               format_of(row.text("expert_weights"))};
  d.cache_bits = row.number("cache_bits");
  d.parallel = parallel;
  d = llm::with_engine(
      std::move(d), need(from_name<llm::EngineKind>(llm::names_of(llm::EngineKind{}), row.text("engine"), "engine")));
  d.costs = options.costs.at(d.engine);
  if (d.engine == llm::EngineKind::kVllm && before_asynchronous_scheduling(row)) {
    d.costs.steps_ahead = 0;
    d.costs.sequence_us = 20;
    d.costs.eager_kernel_us = 70;
  }
  d.gpu.start_share = d.costs.start_share;
  return d;
}

// `pool` names the worker, whose column has the GPUs of an attention replica.
llm::Parallel parallel_of(const Row& row, const std::string& pool = {}) {
  llm::Parallel p;
  p.data = std::max<int64_t>(1, row.whole(pool + "attention_dp"));
  p.tensor = std::max<int64_t>(1, pool.empty() ? row.whole("gpus") / p.data : row.whole(pool + "tp"));
  p.expert_tensor = std::max<int64_t>(1, row.whole(pool + "expert_tp"));
  p.expert = std::max<int64_t>(1, row.whole(pool + "expert_ep"));
  return p;
}

// An open load like inference-perf's: a number of requests a second for some time, rate after rate, the times
// between them exponential.
std::vector<llm::Request> trace_of(const Row& row) {
  std::vector<llm::Request> trace;
  std::mt19937_64 random(1);
  std::istringstream rates(row.text("rates_per_s"));
  double at = 0, end = 0;
  for (double rate = 0; rates >> rate;) {
    std::exponential_distribution<double> wait(rate);
    for (end += row.number("stage_s"); (at += wait(random)) < end;)
      trace.push_back({.sent_s = at, .prompt = row.whole("prompt_max"), .output = row.whole("output_max")});
    at = end;
  }
  return trace;
}

llm::Load load_of(const Row& row) {
  llm::Load load;
  llm::Workload& w = load.workload;
  w.prompt_min = row.whole("prompt_min");
  w.prompt_max = row.whole("prompt_max");
  w.output_min = row.whole("output_min");
  w.output_max = row.whole("output_max");
  if (row.csv.column("rates_per_s") >= 0) {
    w.trace = trace_of(row);
    w.prefix_hit = row.number("prefix_hit");
  } else {
    w.concurrency = row.whole("concurrency");
  }
  return load;
}

void print_prediction(const Row& row, const llm::Serving& s) {
  const llm::Simulation& r = s.simulation;
  fmt::print("{},{:.3f},{:.4f},{:d},{:.2f},{:.0f}", row.text("id"), r.ttft_ms.mean, r.tpot_ms.mean, s.why_not.empty(),
             r.mean_decoding, r.mean_cached);
  const llm::ErrorRange &ttft = s.ttft_error, &tpot = s.tpot_error;
  fmt::print(",{},{},{},{}", ttft.low, ttft.high, tpot.low, tpot.high);
  std::map<std::string, llm::KernelTime> parts;
  for (const llm::KernelRow& kernel : s.decode_step) parts[kernel.name] = kernel.time;
  for (const char* name : kParts) fmt::print(",{:.4f}", 1e3 * parts[name].seconds);
  fmt::print("\n");
}

llm::Serving aggregated(const Row& row, const llm::Deployment& d, llm::Load load) {
  // InferenceX asks the engine without a front end before it; other runs have 60 ms more in every engine.
  load.workload.routed = row.csv.column("rates_per_s") < 0 && row.text("origin") != "inferencex";
  load.chunk_tokens = row.whole("chunk_tokens");
  load.receive_interval = row.whole("receive_interval");
  if (row.csv.column("batch_wait_steps") >= 0) {
    load.batch_wait_steps = row.whole("batch_wait_steps");
    load.batch_wait_share = row.number("batch_wait_share");
  }
  return need(llm::serve(d, 1, load));
}

llm::Serving disaggregated(const Row& row, const llm::Deployment& d, llm::Load load) {
  load.chunk_tokens = row.whole("prefill_tokens");
  load.most_sequences = row.whole("decode_sequences");
  load.transfer_bytes_per_s = llm::kNetworkBytesPerSecond;
  const llm::Disaggregation pools{.prefill = parallel_of(row, "prefill_"),
                                  .decode = d.parallel,
                                  .prefill_workers = row.whole("prefill_workers"),
                                  .decode_workers = row.whole("decode_workers")};
  return need(llm::serve_disaggregated(d, pools, 1, load));
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = options_of(count, arguments);
  const Csv csv = need(parse_csv(need(read_file(options.serving)), options.serving));
  std::map<std::string, llm::Model> models;
  std::map<std::string, llm::Gpu> gpus;
  fmt::print("id,ttft_ms,tpot_ms,fits,sequences,cached,ttft_low,ttft_high,tpot_low,tpot_high");
  for (const char* name : kParts) fmt::print(",\"{}\"", name);
  fmt::print("\n");
  const bool two_pools = csv.column("prefill_workers") >= 0;
  for (const auto& values : csv.rows) {
    const Row row{csv, values};
    const llm::Deployment d = deployment_of(row, options, models, gpus, parallel_of(row, two_pools ? "decode_" : ""));
    print_prediction(row, two_pools ? disaggregated(row, d, load_of(row)) : aggregated(row, d, load_of(row)));
  }
}
