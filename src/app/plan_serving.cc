// A language model served on GPUs of the catalogue: predicted, or the best way searched for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/plan_model.h"
#include "base/csv.h"
#include "base/file.h"
#include "catalogue/cloud_price.h"
#include "llm/search.h"
#include "sizing/training_speed.h"

namespace ridge::app {
namespace {

constexpr int64_t kUsualPrompt = 1024, kUsualOutput = 256;
constexpr size_t kMostWays = 20;

Result<std::vector<llm::Request>> trace_of(const std::string& path) {
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(const Csv csv, parse_csv(text, path));
  const int at = csv.column("seconds"), prompt = csv.column("prompt"), output = csv.column("output");
  if (at < 0 || prompt < 0 || output < 0)
    return invalid(path + ": a trace is a table with the columns seconds, prompt and output");
  std::vector<llm::Request> requests;
  for (const auto& row : csv.rows) {
    const auto number = [&](int column) { return std::strtod(row[static_cast<size_t>(column)].c_str(), nullptr); };
    llm::Request r{number(at), static_cast<int64_t>(number(prompt)), static_cast<int64_t>(number(output))};
    if (r.sent_s < 0 || r.prompt < 1 || r.output < 1 || (!requests.empty() && r.sent_s < requests.back().sent_s))
      return invalid(fmt::format("{}: row {}: seconds do not decrease, prompt and output are at least 1", path,
                                 requests.size() + 2));
    requests.push_back(r);
  }
  if (requests.empty()) return invalid(path + ": no requests");
  return requests;
}

Result<llm::Load> load_of(const PlanRequest& request) {
  const ServingRequest& r = request.llm.serving;
  llm::Load load;
  llm::Workload& w = load.workload;
  const double shortest = 1 - r.spread_percent / 100;
  w.prompt_max = r.prompt.value_or(kUsualPrompt);
  w.output_max = r.output.value_or(kUsualOutput);
  w.prompt_min = std::max<int64_t>(1, std::llround(shortest * static_cast<double>(w.prompt_max)));
  w.output_min = std::max<int64_t>(1, std::llround(shortest * static_cast<double>(w.output_max)));
  w.prefix_hit = r.prefix_hit_percent / 100;
  w.concurrency = r.concurrency;
  if (request.load) w.requests_per_s = request.load->goal.rows_per_s;
  if (w.concurrency > 0 && (request.load || !r.trace.empty()))
    return invalid("--concurrency, --rps and --trace are three loads; give one of them");
  if (!r.trace.empty()) {
    RIDGE_ASSIGN(w.trace, trace_of(r.trace));
    const auto longest = [&](auto member) {
      return std::max_element(w.trace.begin(), w.trace.end(),
                              [&](const auto& a, const auto& b) { return a.*member < b.*member; });
    };
    w.prompt_max = (*longest(&llm::Request::prompt)).prompt;
    w.output_max = (*longest(&llm::Request::output)).output;
  }
  // Each draft token is accepted if those before it were: 1 + a + a² + … tokens a step.
  for (int64_t i = 1; i <= r.draft_tokens; ++i)
    w.tokens_per_step += std::pow(r.acceptance_percent / 100, static_cast<double>(i));
  load.goals = {r.ttft_ms, r.tpot_ms, r.percentile};
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

Result<std::vector<llm::Offer>> offers_of(const PlanRequest& request) {
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  RIDGE_ASSIGN(const std::vector<catalogue::CloudPrice> prices, catalogue::cloud_prices(devices));
  std::vector<llm::Offer> offers;
  for (const std::string& name : request.llm.serving.gpus) {
    RIDGE_ASSIGN(const catalogue::CatalogueDevice device, catalogue::find_device(devices, name));
    RIDGE_ASSIGN(llm::Gpu gpu, llm::gpu_of(device));
    llm::Prices price;
    if (const auto listed = catalogue::price_of(prices, device)) price.usd_per_gpu_hour = listed->usd_per_gpu_hour;
    if (request.cost && request.cost->hour_usd) price.usd_per_gpu_hour = request.cost->hour_usd;
    offers.push_back({std::move(gpu), price});
  }
  return offers;
}

Result<llm::Space> space_of(const PlanRequest& request, const llm::Model& model) {
  const ServingRequest& r = request.llm.serving;
  llm::Space space;
  RIDGE_ASSIGN(space.offers, offers_of(request));
  if (!r.engines.empty()) space.engines.clear();
  for (const std::string& name : r.engines) {
    RIDGE_ASSIGN(const llm::EngineKind engine,
                 from_name<llm::EngineKind>(llm::names_of(llm::EngineKind{}), name, "engine"));
    space.engines.push_back(engine);
  }
  if (r.weights.empty()) space.formats = {model.formats};
  for (const std::string& name : r.weights) {
    RIDGE_ASSIGN(const llm::Format format, llm::format_from_name(name == "fp16" ? "bf16" : name));
    space.formats.push_back({format, format, format});
  }
  space.most_gpus = r.most_gpus;
  space.tensor = r.tensor;
  space.data = r.data;
  space.pipeline = r.pipeline;
  space.expert = r.expert;
  const auto wants = [&](const char* name) {
    return r.deployments.empty() || std::find(r.deployments.begin(), r.deployments.end(), name) != r.deployments.end();
  };
  space.aggregated = wants("aggregated") && !r.prefill_workers && !r.decode_workers && !r.prefill_tensor;
  // A given split is one of aggregated serving, unless the other is asked for.
  const bool given = r.tensor || r.data || r.pipeline || r.expert;
  const bool asked = !r.deployments.empty() || r.prefill_workers || r.decode_workers || r.prefill_tensor;
  space.disaggregated = wants("disaggregated") && (asked || !given);
  space.prefill_workers = r.prefill_workers;
  space.decode_workers = r.decode_workers;
  space.prefill_tensor = r.prefill_tensor;
  return space;
}

Json kernels_json(const std::vector<llm::KernelRow>& rows) {
  Json list = Json::array();
  for (const llm::KernelRow& row : rows) {
    const llm::KernelTime& t = row.time;
    Json kernel{{"name", row.name}, {"calls", row.calls}, {"ms", 1e3 * t.seconds}, {"bound_ms", 1e3 * t.bound_seconds}};
    kernel["percent_of_limit"] = t.seconds > 0 ? 100 * t.bound_seconds / t.seconds : 0;
    kernel["limiter"] = t.bound_seconds <= 0 ? "none" : t.compute_bound ? "compute" : "memory";
    kernel["law"] = t.error_percent <= 0 ? "assumed" : t.own ? "this GPU's" : "other GPUs'";
    if (t.error_percent > 0) kernel["median_error_percent"] = t.error_percent;
    list.push_back(std::move(kernel));
  }
  return list;
}

const llm::Gpu& gpu_named(const llm::Space& space, const std::string& name) {
  return std::find_if(space.offers.begin(), space.offers.end(), [&](const llm::Offer& o) { return o.gpu.name == name; })
      ->gpu;
}

}  // namespace

Result<Json> plan_serving(const PlanRequest& request, const LlmSource& source) {
  if (!source.config)
    return Error{
        Code::kUnsupported,
        "--gpu predicts the serving of a model from its config.json or --llm; this file has no layers of them"};
  llm::Deployment base;
  base.model = source.config->model;
  RIDGE_ASSIGN(const llm::Load load, load_of(request));
  RIDGE_ASSIGN(const llm::Space space, space_of(request, base.model));
  if (!request.llm.kv.empty()) {
    RIDGE_ASSIGN(const llm::Format cache, llm::format_from_name(request.llm.kv == "fp16" ? "bf16" : request.llm.kv));
    base.cache_bits = llm::facts_of(cache).bits;
  }
  base.draft_tokens = request.llm.serving.draft_tokens;
  std::vector<llm::Serving> ways = llm::search(base, space, load);
  const llm::Parameters parameters = llm::parameters_of(base.model);
  Json json{{"model", base.model.name}, {"params", parameters.total}, {"active_params", parameters.active}};
  json["weight_bytes"] = llm::weight_bytes(base.model, base.model.formats);
  json["kv_bytes_per_token"] = llm::cache_bytes_per_token(base.model, base.cache_bits);
  const llm::Workload& w = load.workload;
  json["workload"] = {{"prompt", {w.prompt_min, w.prompt_max}}, {"output", {w.output_min, w.output_max}},
                      {"concurrency", w.concurrency},           {"requests_per_s", w.requests_per_s},
                      {"trace_requests", w.trace.size()},       {"tokens_per_step", w.tokens_per_step}};
  json["notes"] = base.model.notes;
  if (base.draft_tokens > 0 && base.model.draft_layers == 0)
    json["notes"].push_back(
        "the model has no layers of multi-token prediction: what computes the draft tokens is not counted");
  json["met"] = !ways.empty() && ways.front().meets;
  if (ways.empty()) {
    // Why the largest group of the first GPU does not hold it.
    base.gpu = space.offers.front().gpu;
    base.engine = space.engines.front();
    base.formats = space.formats.front();
    base.parallel.tensor = space.tensor.value_or(space.most_gpus);
    base.parallel.expert_tensor = base.parallel.tensor;
    llm::Load one = load;
    one.workload.concurrency = std::max<int64_t>(1, w.concurrency);
    RIDGE_ASSIGN(const llm::Serving s, llm::serve(base, 1, one));
    json["reason"] = s.why_not.empty() ? "no way to split the model in the space meets the goals or carries the load"
                                       : fmt::format("{} x {}: {}", base.parallel.tensor, s.gpu, s.why_not);
    return json;
  }
  const llm::Serving& best = ways.front();
  base.gpu = gpu_named(space, best.gpu);
  base.engine = best.engine;
  base.parallel = best.parallel;
  for (const llm::Formats& formats : space.formats) {
    base.formats = formats;
    if (llm::memory_of(base, static_cast<double>(w.prompt_max + w.output_max)).weights == best.memory.weights) break;
  }
  json["serving"] = json_of(best);
  json["serving"]["decode_step"] = kernels_json(best.decode_step);
  json["serving"]["prompt_step"] = kernels_json(best.prompt_step);
  json["serving"]["advice"] = llm::advice(base, best);
  json["serving"]["launch"] =
      llm::launch_line(base, best, request.model.empty() ? "MODEL" : shell_word(request.model), load);
  json["searched"] = ways.size();
  json["front"] = Json::array();
  for (const llm::Serving& s : llm::front_of(ways)) json["front"].push_back(json_of(s));
  if (ways.size() > kMostWays) ways.resize(kMostWays);
  json["ways"] = Json::array();
  for (const llm::Serving& s : ways) json["ways"].push_back(json_of(s));
  return json;
}

}  // namespace ridge::app
