// Predictions for measured runs of language-model servers; `benchmarks/silicon.py` drives it and judges them.
//
// With the columns of serving_disaggregated.csv in SERVING.csv prompts and tokens are on workers of their own, and the batch is one decode worker's.
// usage: silicon SERVING.csv CONFIGS [--without DEVICE] [--constant ENGINE.NAME=VALUE]...   prints a row for each: its id, the predicted means, whether the
// memory holds one sequence by the engine's rule, the mean batch, and the kernels of a decode step of it.
// CONFIGS: a folder with a config.json per model, MODEL.json. --without leaves a device's own kernel laws out.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/file.h"
#include "catalogue/catalogue.h"
#include "catalogue/data.h"
#include "llm/config.h"
#include "llm/disaggregate.h"
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

llm::Format format_of(const std::string& name) {
  static const std::map<std::string, llm::Format> kNames = {
      {"bfloat16", llm::Format::kBf16},      {"fp8", llm::Format::kFp8},
      {"fp8_block", llm::Format::kFp8Block}, {"nvfp4", llm::Format::kNvfp4},
      {"w4a16_mxfp4", llm::Format::kMxfp4},  {"w4a8_mxfp4_mxfp8", llm::Format::kMxfp4},
      {"int4_wo", llm::Format::kInt4},       {"", llm::Format::kBf16}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) stop("unknown form of weights " + name);
  return found->second;
}

double* constant(llm::EngineCosts& costs, const std::string& name) {
  static const std::map<std::string, double llm::EngineCosts::*> kNames = {
      {"kernel_us", &llm::EngineCosts::kernel_us},     {"eager_kernel_us", &llm::EngineCosts::eager_kernel_us},
      {"sequence_us", &llm::EngineCosts::sequence_us}, {"prompt_factor", &llm::EngineCosts::prompt_factor},
      {"token_us", &llm::EngineCosts::token_us},       {"router_ms", &llm::EngineCosts::router_ms},
      {"handover_ms", &llm::EngineCosts::handover_ms}, {"start_share", &llm::EngineCosts::start_share},
      {"lag_steps", &llm::EngineCosts::lag_steps},     {"fixed_ms", &llm::EngineCosts::fixed_ms}};
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

llm::Deployment deployment_of(const Row& row, const Options& options, std::map<std::string, llm::Model>& models,
                              std::map<std::string, llm::Gpu>& gpus, const std::string& pool) {
  llm::Deployment d;
  const std::string& model = row.text("model");
  if (!models.contains(model)) {
    const std::string path = options.configs + "/" + model + ".json";
    const Json json = need(parse_json(need(read_file(path)), path));
    models[model] = need(llm::config_from_json(json, model)).model;
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
  d.parallel.data = std::max<int64_t>(1, row.whole(pool + "attention_dp"));
  // The aggregated table has the GPUs of a stage, the other one those of an attention replica.
  d.parallel.tensor = std::max<int64_t>(1, pool.empty() ? row.whole("tp") / d.parallel.data : row.whole(pool + "tp"));
  d.parallel.expert_tensor = std::max<int64_t>(1, row.whole(pool + "expert_tp"));
  d.parallel.expert = std::max<int64_t>(1, row.whole(pool + "expert_ep"));
  d.engine = need(from_name<llm::EngineKind>(llm::names_of(llm::EngineKind{}), row.text("engine"), "engine"));
  d.costs = options.costs.at(d.engine);
  d.gpu.start_share = d.costs.start_share;
  return d;
}

llm::Workload workload_of(const Row& row) {
  llm::Workload w;
  w.prompt_min = row.whole("prompt_min");
  w.prompt_max = row.whole("prompt_max");
  w.output_min = row.whole("output_min");
  w.output_max = row.whole("output_max");
  w.concurrency = row.whole("concurrency");
  return w;
}

void print_prediction(const Row& row, const llm::Deployment& d, const llm::Workload& w, const llm::Simulation& r) {
  const double length = static_cast<double>(w.prompt_max + w.output_max);
  const bool fits = llm::memory_of(d, length).cache_tokens >= length;
  fmt::print("{},{:.3f},{:.4f},{:d},{:.2f},{:.0f}", row.text("id"), r.ttft_ms.mean, r.tpot_ms.mean, fits,
             r.mean_decoding, r.mean_cached);
  std::map<std::string, llm::KernelTime> parts;
  for (const llm::KernelRow& kernel : llm::kernels_of(d, {r.mean_decoding, r.mean_decoding * r.mean_cached, {}, 0}))
    parts[kernel.name] = kernel.time;
  for (const char* name : kParts) fmt::print(",{:.4f}", 1e3 * parts[name].seconds);
  fmt::print("\n");
}

llm::Simulation disaggregated(const Row& row, const llm::Deployment& prefill, const llm::Deployment& decode,
                              const llm::Workload& w) {
  llm::Pool prompts{row.whole("prefill_workers"), prefill.parallel.data, row.whole("prefill_tokens")};
  if (prompts.chunk_tokens == 0) prompts.chunk_tokens = 8192;
  if (prefill.engine == llm::EngineKind::kTensorRtLlm)
    prompts.chunk_tokens = std::max(prompts.chunk_tokens, w.prompt_max);
  llm::Pool tokens{row.whole("decode_workers"), decode.parallel.data};
  if (row.whole("decode_sequences") > 0) tokens.most_sequences = row.whole("decode_sequences");
  const llm::ServingMemory memory = llm::memory_of(decode, static_cast<double>(w.prompt_max + w.output_max));
  tokens.cache_tokens = memory.cache_tokens;
  const llm::StepTable prefill_steps(prefill, 2 * prompts.chunk_tokens), decode_steps(decode, 4096);
  const double transfer_s = memory.cache_per_token / llm::kNetworkBytesPerSecond;
  return need(llm::simulate_disaggregated(prefill_steps, prompts, decode_steps, tokens, transfer_s, decode.engine,
                                          decode.costs, w))
      .all;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = options_of(count, arguments);
  const Csv csv = need(parse_csv(need(read_file(options.serving)), options.serving));
  std::map<std::string, llm::Model> models;
  std::map<std::string, llm::Gpu> gpus;
  fmt::print("id,ttft_ms,tpot_ms,fits,sequences,cached");
  for (const char* name : kParts) fmt::print(",\"{}\"", name);
  fmt::print("\n");
  const bool two_pools = csv.column("prefill_workers") >= 0;
  for (const auto& values : csv.rows) {
    const Row row{csv, values};
    llm::Workload w = workload_of(row);
    const llm::Deployment d = deployment_of(row, options, models, gpus, two_pools ? "decode_" : "");
    if (two_pools) {
      const llm::Deployment prefill = deployment_of(row, options, models, gpus, "prefill_");
      print_prediction(row, d, w, disaggregated(row, prefill, d, w));
      continue;
    }
    // Of InferenceX's runs the engine is asked without a front end before it; the others have 60 ms more in every engine.
    w.routed = row.text("origin") != "inferencex";
    llm::Scheduler s;
    s.engine = d.engine;
    s.replicas = d.parallel.data;
    s.chunk_tokens = row.whole("chunk_tokens");
    s.receive_interval = row.whole("receive_interval");
    if (csv.column("batch_wait_steps") >= 0) {
      s.batch_wait_steps = row.whole("batch_wait_steps");
      s.batch_wait_share = row.number("batch_wait_share");
    }
    const llm::StepTable steps(d, s.chunk_tokens + w.concurrency);
    print_prediction(row, d, w,
                     need(llm::simulate([&](const llm::Step& step) { return steps.seconds(step); }, d.costs, s, w)));
  }
}
