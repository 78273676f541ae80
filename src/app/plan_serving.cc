// A language model served on GPUs of the catalogue: predicted, or the best way searched for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/next_steps.h"
#include "app/plan_model.h"
#include "base/units.h"
#include "catalogue/cloud_price.h"
#include "cost/gpu_limits.h"
#include "limits/nvidia_gpu.h"
#include "llm/launch.h"
#include "llm/search.h"
#include "llm/trace.h"
#include "plan/device.h"
#include "sizing/training_speed.h"

namespace ridge::app {
namespace {

constexpr size_t kMostWays = 20;
// Taken without a load or a goal: what a person in a chat accepts (assumed).
constexpr double kUsualTtftMs = 2000, kUsualTpotMs = 100;

// A GPU to plan with, and for one of this machine where its limits come from.
struct PlannedGpu {
  llm::Gpu gpu;
  catalogue::CatalogueDevice device;
  std::vector<cost::DeviceLimits::Source> limits;  // empty: of the catalogue
  std::vector<std::string> notes;
};

// k of the library's matrix multiplication at this rate: its row ends with "… x 8192". 0: no such row.
double depth_of(const limits::accelerator::DeviceMeasurement& measured, Precision precision, double best) {
  for (const limits::accelerator::PeakRow& row : measured.peaks) {
    if (row.precision != precision || row.way != "cuBLASLt" || row.result.best != best) continue;
    const size_t last = row.result.conditions.rfind(' ');
    return last == std::string::npos ? 0 : std::strtod(row.result.conditions.c_str() + last, nullptr);
  }
  return 0;
}

llm::MeasuredRates rates_of(const limits::NvidiaGpu& gpu, const cost::DeviceLimits& limits) {
  llm::MeasuredRates rates;
  if (!gpu.measured) return rates;
  for (const auto& [precision, arithmetic] :
       {std::pair{Precision::kBf16, Precision::kBf16}, std::pair{Precision::kFp8, Precision::kFp8}}) {
    const cost::DeviceLimits::Source* source = cost::source_of(limits, precision_name(precision));
    if (source == nullptr || source->origin != Origin::kMeasured) continue;
    llm::MeasuredRates::Peak peak{
        .best = source->per_s, .typical = source->per_s, .depth = depth_of(*gpu.measured, precision, source->per_s)};
    for (const limits::accelerator::PeakRow& row : gpu.measured->peaks)
      if (row.precision == precision && row.result.best == source->per_s) peak.typical = *row.result.typical;
    rates.peaks[arithmetic] = peak;
  }
  for (const limits::accelerator::BandwidthRow& row : gpu.measured->bandwidths)
    if (row.level == "DRAM" && row.access == "read") rates.bytes_per_s = row.result.best.value_or(0);
  return rates;
}

// A GPU of this machine: its datasheet, or what was measured where the catalogue has none, with the measured limits.
Result<PlannedGpu> gpu_here(const plan::Device& name) {
  const std::string id = plan::device_name(name);
  Result<limits::NvidiaGpu> found = limits::nvidia_gpu(name.index);
  if (!found) return Error{Code::kUnavailable, "device " + id + ": " + found.error().message};
  const limits::NvidiaGpu& gpu = *found;
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(gpu, cost::Accumulate::kFp32));
  const llm::MeasuredRates rates = rates_of(gpu, limits);
  PlannedGpu planned;
  planned.device = gpu.datasheet.value_or(catalogue::CatalogueDevice{});
  if (!gpu.datasheet) {
    planned.device.vendor = "NVIDIA";
    planned.device.name = gpu.facts.name;
    planned.device.bytes_per_s = rates.bytes_per_s;
    for (const auto& [arithmetic, peak] : rates.peaks)
      planned.device.peaks.push_back({.arithmetic = arithmetic, .flops_per_s = peak.best});
  }
  if (gpu.facts.memory_bytes > 0) planned.device.memory_bytes = static_cast<double>(gpu.facts.memory_bytes);
  if (gpu.facts.compute_units > 0) planned.device.multiprocessors = static_cast<int>(gpu.facts.compute_units);
  RIDGE_ASSIGN(const llm::Gpu listed, llm::gpu_of(planned.device));
  planned.gpu = llm::measured_gpu(listed, rates);
  planned.gpu.name += fmt::format(" ({})", id);
  for (const cost::DeviceLimits::Source& source : limits.sources)
    if (source.what == "bf16" || source.what == "fp8" || source.what == "DRAM") planned.limits.push_back(source);
  for (const cost::DeviceLimits::Remark& remark : limits.remarks)
    if (!remark.precision || *remark.precision == Precision::kBf16 || *remark.precision == Precision::kFp8)
      planned.notes.push_back(remark.text);
  return planned;
}

Result<std::vector<PlannedGpu>> gpus_of(const ServingRequest& request) {
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  std::vector<PlannedGpu> gpus;
  for (const std::string& name : request.gpus) {
    if (const Result<plan::Device> here = plan::device_from_name(name); here && plan::is_nvidia(*here)) {
      RIDGE_ASSIGN(gpus.emplace_back(), gpu_here(*here));
      continue;
    }
    PlannedGpu planned;
    RIDGE_ASSIGN(planned.device, catalogue::find_device(devices, name));
    if (request.manifest && planned.device.vendor != "NVIDIA")
      return Error{Code::kUnsupported,
                   fmt::format("--manifest: images and labels are known for NVIDIA's GPUs; {} is {}'s",
                               planned.device.name, planned.device.vendor)};
    RIDGE_ASSIGN(planned.gpu, llm::gpu_of(planned.device));
    gpus.push_back(std::move(planned));
  }
  return gpus;
}

Result<std::vector<llm::Offer>> offers_of(const PlanRequest& request, const std::vector<PlannedGpu>& gpus) {
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  RIDGE_ASSIGN(const std::vector<catalogue::CloudPrice> prices, catalogue::cloud_prices(devices));
  std::vector<llm::Offer> offers;
  for (const PlannedGpu& planned : gpus) {
    llm::Prices price;
    // A GPU of this machine is not rented, unless a price is given.
    const auto listed = planned.limits.empty() ? catalogue::price_of(prices, planned.device) : std::nullopt;
    if (listed) price.usd_per_gpu_hour = listed->usd_per_gpu_hour;
    if (request.cost && request.cost->hour_usd) price.usd_per_gpu_hour = request.cost->hour_usd;
    offers.push_back({planned.gpu, price});
  }
  return offers;
}

Result<llm::Space> space_of(const PlanRequest& request, const std::vector<PlannedGpu>& gpus, const llm::Model& model) {
  const ServingRequest& r = request.llm.serving;
  llm::Space space;
  RIDGE_ASSIGN(space.offers, offers_of(request, gpus));
  if (!r.engines.empty()) space.engines.clear();
  for (const std::string& name : r.engines) {
    RIDGE_ASSIGN(const llm::EngineKind engine,
                 from_name<llm::EngineKind>(llm::names_of(llm::EngineKind{}), name, "engine"));
    space.engines.push_back(engine);
  }
  if (r.weights.empty()) space.formats = {model.formats};
  for (const std::string& name : r.weights) {
    RIDGE_ASSIGN(const checkpoint::WeightFormat format, checkpoint::weight_format(name == "fp16" ? "bf16" : name));
    space.formats.push_back({.attention = format, .feed_forward = format, .experts = format});
  }
  space.most_gpus = r.most_gpus;
  space.split = r.split;
  space.prefill = r.prefill;
  const auto wants = [&](const char* name) {
    return r.deployments.empty() || std::find(r.deployments.begin(), r.deployments.end(), name) != r.deployments.end();
  };
  const bool pools = r.prefill_workers || r.decode_workers || r.prefill.any();
  space.aggregated = wants("aggregated") && !pools;
  // A given split is one of aggregated serving, unless the other is asked for; so is what a manifest deploys.
  const bool given = r.split.any() || r.manifest;
  space.disaggregated = wants("disaggregated") && (pools || !r.deployments.empty() || !given);
  space.prefill_workers = r.prefill_workers;
  space.decode_workers = r.decode_workers;
  return space;
}

// For a shell; the file of options is written first.
std::string launch_text(const llm::Launch& launch, llm::EngineKind engine) {
  std::string text;
  if (!launch.options.empty()) text += fmt::format("cat > {} <<END\n{}END\n", llm::kOptionsFile, launch.options);
  std::vector<std::string> words = launch.program;
  words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
  if (!launch.options.empty())
    words.insert(words.end(), {std::string(llm::program_of(engine).file_flag), llm::kOptionsFile});
  for (const std::string& word : words) text += (text.empty() || text.ends_with('\n') ? "" : " ") + shell_word(word);
  return text;
}

// A prefill pool needs a command for each kind of worker, and one that joins them.
std::string launch_text(const llm::Deployment& d, const llm::Serving& s, const std::string& model,
                        const llm::Load& load) {
  const auto text = [&](llm::Role role) { return launch_text(llm::launch_of(d, s, model, load, role), s.engine); };
  if (!s.prefill) return text(llm::Role::kAll);
  const auto workers = [](int64_t count, const char* kind) {
    return fmt::format("# {} {} worker{}:\n", count, kind, count == 1 ? "" : "s, each");
  };
  return workers(s.prefill->workers, "prefill") + text(llm::Role::kPrefill) + "\n" + workers(s.replicas, "decode") +
         text(llm::Role::kDecode) + "\n# a router that asks a prefill worker and then a decode worker: " +
         std::string(llm::program_of(s.engine).router);
}

// The model that the engine loads: as given, else the folder of config.json.
std::string model_to_load(const PlanRequest& request) {
  if (!request.llm.serving.model_id.empty()) return request.llm.serving.model_id;
  const std::filesystem::path file = request.model;
  if (file.filename() != "config.json") return "MODEL";
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

std::string joined(const llm::Interval& ms) { return fmt::format("{} to {}", format_ms(ms.low), format_ms(ms.high)); }

Result<std::string> manifest_of(const llm::Launch& launch, const llm::Serving& s, const std::string& model) {
  const llm::ServingRanges ranges = llm::ranges_of(s);
  return llm::manifest_of(launch, s, model,
                          fmt::format("{} x {}, predicted: first token {}, each token {} (80 % of measured ones)",
                                      s.gpus, s.gpu, joined(ranges.ttft_ms), joined(ranges.tpot_ms)));
}

// One way under several loads.
bool alike(const llm::Serving& a, const llm::Serving& b) {
  const auto way = [](const llm::Serving& s) {
    const llm::PrefillPool pool = s.prefill.value_or(llm::PrefillPool());
    return std::tuple(s.gpu, s.engine, s.weights, s.gpus, s.parallel, s.prefill.has_value(), pool.workers,
                      pool.parallel);
  };
  return way(a) == way(b);
}

const llm::Gpu& gpu_named(const llm::Space& space, const std::string& name) {
  return std::find_if(space.offers.begin(), space.offers.end(), [&](const llm::Offer& o) { return o.gpu.name == name; })
      ->gpu;
}

}  // namespace

Result<llm::Load> serving_load(const PlanRequest& request) {
  const ServingRequest& r = request.llm.serving;
  llm::Load load;
  llm::Workload& w = load.workload;
  const double shortest = 1 - r.spread_percent / 100;
  w.prompt_max = r.prompt.value_or(w.prompt_max);
  w.output_max = r.output.value_or(w.output_max);
  w.prompt_min = std::max<int64_t>(1, std::llround(shortest * static_cast<double>(w.prompt_max)));
  w.output_min = std::max<int64_t>(1, std::llround(shortest * static_cast<double>(w.output_max)));
  w.prefix_hit = r.prefix_hit_percent / 100;
  w.concurrency = r.concurrency;
  if (request.load) w.requests_per_s = request.load->goal.rows_per_s;
  if (w.concurrency > 0 && (request.load || !r.trace.empty()))
    return invalid("--concurrency, --rps and --trace are three loads; give one of them");
  if (!r.trace.empty()) {
    RIDGE_ASSIGN(w.trace, llm::read_trace(r.trace));
    const llm::Lengths lengths = llm::lengths_of(w.trace);
    w.prompt_min = lengths.prompt_min;
    w.prompt_max = lengths.prompt_max;
    w.output_min = lengths.output_min;
    w.output_max = lengths.output_max;
  }
  // Each draft token is accepted if those before it were: 1 + a + a² + … tokens a step.
  for (int64_t i = 1; i <= r.draft_tokens; ++i)
    w.tokens_per_step += std::pow(r.acceptance_percent / 100, static_cast<double>(i));
  load.goals = {.ttft_ms = r.ttft_ms, .tpot_ms = r.tpot_ms, .percentile = r.percentile};
  load.chunk_tokens = r.chunk_tokens;
  load.most_sequences = r.most_sequences;
  load.receive_interval = r.receive_interval;
  load.batch_wait_steps = r.batch_wait_steps;
  load.batch_wait_share = r.batch_wait_percent / 100;
  if (!r.cache_link.empty()) {
    RIDGE_ASSIGN(const sizing::Link link, sizing::link_from_name(r.cache_link));
    load.transfer_bytes_per_s = link.bytes_per_s * link.share;
  }
  return load;
}

Result<ServingPlan> plan_serving(const PlanRequest& request, const LlmSource& source) {
  if (!source.config)
    return Error{
        Code::kUnsupported,
        "--gpu predicts the serving of a model from its config.json or --llm; this file has no layers of them"};
  llm::Deployment base;
  base.model = source.config->model;
  // The engines load what was published in 32 bits in 16, unless told otherwise.
  if (base.model.formats.attention == checkpoint::WeightFormat::kFp32 && request.llm.serving.weights.empty()) {
    base.model.formats = {};
    base.model.notes.push_back("published as float32, which engines load in 16 bits; --weights fp32 plans the other");
  }
  RIDGE_ASSIGN(llm::Load load, serving_load(request));
  // Without a load or a goal, as many requests at once as still get a first token soon.
  const bool assumed = load.workload.concurrency == 0 && load.workload.requests_per_s <= 0 &&
                       load.workload.trace.empty() && !load.goals.ttft_ms && !load.goals.tpot_ms;
  if (assumed) load.goals = {.ttft_ms = kUsualTtftMs, .tpot_ms = kUsualTpotMs, .percentile = 50};
  RIDGE_ASSIGN(const std::vector<PlannedGpu> gpus, gpus_of(request.llm.serving));
  RIDGE_ASSIGN(llm::Space space, space_of(request, gpus, base.model));
  // Two kinds of workers are for those who know their load, or ask for them.
  if (assumed && space.aggregated && request.llm.serving.deployments.empty()) space.disaggregated = false;
  if (!request.llm.kv.empty()) {
    RIDGE_ASSIGN(const checkpoint::WeightFormat cache,
                 checkpoint::weight_format(request.llm.kv == "fp16" ? "bf16" : request.llm.kv));
    base.cache_bits = checkpoint::bits_of(cache);
  }
  base.draft_tokens = request.llm.serving.draft_tokens;
  auto [ways, missing] = llm::search(base, space, load);
  const llm::Workload& w = load.workload;
  ServingPlan plan{.model = base.model.name,
                   .parameters = llm::parameters_of(base.model),
                   .weight_bytes = llm::weight_bytes(base.model, base.model.formats),
                   .kv_bytes_per_token = llm::cache_bytes_per_token(base.model, base.cache_bits),
                   .workload = w,
                   .notes = base.model.notes};
  if (base.draft_tokens > 0 && base.model.draft_layers == 0)
    plan.notes.push_back(
        "the model has no layers of multi-token prediction: what computes the draft tokens is not counted");
  if (assumed)
    plan.notes.push_back(
        fmt::format("no load is given: as many requests at once as get a first token within {:g} s "
                    "and each token within {:g} ms; --concurrency, --rps",
                    kUsualTtftMs / 1e3, kUsualTpotMs));
  for (const PlannedGpu& gpu : gpus) {
    if (gpu.gpu.link_unknown && space.most_gpus > 1)
      plan.notes.push_back(
          fmt::format("{}: the rate of the link between its GPUs has no source; {:g} GB/s of PCIe "
                      "are taken",
                      gpu.gpu.name, 1e-9 * gpu.gpu.link_bytes_per_s));
    if (gpu.limits.empty()) continue;
    plan.here.push_back({gpu.gpu.name, gpu.limits});
    plan.notes.insert(plan.notes.end(), gpu.notes.begin(), gpu.notes.end());
  }
  plan.met = !ways.empty() && (assumed || ways.front().meets);
  for (const auto& [gpu, why] : missing) plan.missing.push_back({gpu, why});
  if (ways.empty()) return plan;
  // The best way of each GPU, and how the best of all goes with the requests at once.
  for (const llm::Serving& s : ways) {
    if (std::ranges::find(plan.by_gpu, s.gpu, &llm::Serving::gpu) == plan.by_gpu.end()) plan.by_gpu.push_back(s);
    if (assumed && alike(s, ways.front())) plan.by_concurrency.push_back(s);
  }
  std::ranges::sort(plan.by_concurrency, {}, &llm::Serving::concurrency);
  const llm::Serving& best = ways.front();
  base.gpu = gpu_named(space, best.gpu);
  base.parallel = best.parallel;
  base = llm::with_engine(std::move(base), best.engine);
  for (const llm::Formats& formats : space.formats) {
    base.formats = formats;
    if (llm::memory_of(base, static_cast<double>(w.prompt_max + w.output_max)).weights == best.memory.weights) break;
  }
  const std::string model = model_to_load(request);
  const llm::Launch launch = llm::launch_of(base, best, model, load);
  const llm::EngineProgram& program = llm::program_of(best.engine);
  plan.best = {.way = best,
               .advice = llm::advice(base, best),
               .launch = launch_text(base, best, model, load),
               .engine_version = std::string(program.version),
               .image = std::string(program.image),
               .launch_notes = launch.notes};
  if (request.llm.serving.manifest) {
    RIDGE_ASSIGN(plan.manifest, manifest_of(launch, best, model));
  }
  plan.searched = ways.size();
  plan.front = llm::front_of(ways);
  if (ways.size() > kMostWays) ways.resize(kMostWays);
  plan.ways = std::move(ways);
  return plan;
}

}  // namespace ridge::app
