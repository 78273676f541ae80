// Sizing of a language model from its dimensions, on the planned device.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/decoder_model.h"
#include "app/plan_model.h"
#include "base/file.h"
#include "checkpoint/config.h"
#include "checkpoint/documents.h"
#include "checkpoint/graph_folder.h"
#include "checkpoint/weights.h"
#include "engine/model_file.h"
#include "llm/graph_model.h"

namespace ridge::app {
namespace {

constexpr int64_t kDefaultContext = 4096, kDefaultPrompt = 1024;
constexpr double kDefaultReservePercent = 10;  // like vLLM's gpu_memory_utilization 0.9

Result<LlmSource> source_of(const Result<checkpoint::Config>& config) {
  if (!config) return config.error();
  LlmSource source{
      .model = config->model, .parameters = llm::parameters_of(config->model), .precision = config->precision};
  if (config->quantised) {
    const double bits = 8 * llm::weight_bytes(config->model, config->model.formats) / source.parameters.total;
    source.stored = llm::as_stored(bits);
  }
  source.config = *config;
  return source;
}

// Reads its metadata, and takes the form of its tensors.
Result<LlmSource> source_of_gguf(const std::string& path) {
  RIDGE_ASSIGN(const checkpoint::ModelDocuments documents, checkpoint::model_documents(path));
  RIDGE_ASSIGN(LlmSource source, source_of(checkpoint::config_from_json(*documents.config, path)));
  source.stored = llm::as_stored(documents.weight_bits);
  return source;
}

// TF32 and FP64 are computed from weights in FP32.
Result<llm::Storage> weights_of(Precision precision) {
  Result<llm::Storage> format = llm::storage(precision_name(precision));
  return format ? format : llm::storage(precision_name(Precision::kFp32));
}

Result<std::optional<CostPlan>> decoding_cost(const PlanRequest& request, const llm::Forecast& forecast,
                                              const PlanDevice& device, int threads) {
  std::optional<CostPlan> none;
  if (!request.cost) return none;
  CostSubject subject{.device = device, .name = forecast.device, .threads = threads, .unit = "token"};
  for (const llm::DecodeStep& step : forecast.decode)
    if (step.fits && step.bound.ms > 0)
      subject.services.push_back(
          {.batch = step.batch, .ms = step.bound.ms, .basis = "the bound of one decoding step, a lower limit"});
  if (subject.services.empty()) return none;
  RIDGE_ASSIGN(CostPlan cost, plan_cost(*request.cost, subject));
  return std::optional(std::move(cost));
}

}  // namespace

Result<LlmSource> read_llm(const PlanRequest& request) {
  if (!request.llm.flags.empty()) return source_of(checkpoint::config_from_flags(request.llm.flags));
  if (checkpoint::is_gguf(request.model)) return source_of_gguf(request.model);
  if (request.model.ends_with(".json")) {
    RIDGE_ASSIGN(const std::string text, read_file(request.model));
    RIDGE_ASSIGN(const Json json, parse_json(text, request.model));
    // The quantisation of NVIDIA's checkpoints lies in a file of its own.
    std::optional<Json> quantisation;
    const std::string beside = (std::filesystem::path(request.model).parent_path() / "hf_quant_config.json").string();
    if (std::filesystem::exists(beside)) {
      RIDGE_ASSIGN(const std::string other, read_file(beside));
      RIDGE_ASSIGN(quantisation, parse_json(other, beside));
    }
    RIDGE_ASSIGN(LlmSource source,
                 source_of(checkpoint::config_from_json(json, request.model, quantisation ? &*quantisation : nullptr)));
    if (const std::string folder = checkpoint_folder(request.model); checkpoint::is_graph_folder(folder)) {
      RIDGE_ASSIGN(const checkpoint::GraphConstants constants, checkpoint::graph_constants(folder));
      const double bits = 8 * static_cast<double>(constants.bytes) / source.parameters.total;
      source.stored = llm::as_stored(bits);
    }
    return source;
  }
  model::Binding binding = request.binding;
  binding.batch.reset();  // the cache's inputs are sized in any case
  RIDGE_ASSIGN(const model::UnboundModel model, engine::read_model(request.model));
  RIDGE_ASSIGN(const model::Graph graph, model.bind(binding));
  Result<llm::GraphModel> found = llm::model_of_graph(graph, request.model);
  if (!found) return wrap(found.error(), request.model);
  return LlmSource{
      .model = found->model, .parameters = found->parameters, .stored = found->stored, .kv_bits = found->kv_bits};
}

Result<llm::ForecastSetup> llm_setup(const PlanRequest& request, const LlmSource& source) {
  const LlmRequest& llm = request.llm;
  llm::ForecastSetup setup;
  setup.precision = llm.precision_given ? request.precision : source.precision.value_or(request.precision);
  const bool wide = source.stored && source.stored->matrix_bits > 24;  // an ONNX file in FP32 is computed in FP32
  if (!llm.precision_given && wide) setup.precision = Precision::kFp32;
  if (llm.weights.empty() && source.stored) {
    setup.weights = *source.stored;
  } else {
    RIDGE_ASSIGN(setup.weights, llm.weights.empty() ? weights_of(setup.precision) : llm::storage(llm.weights));
  }
  setup.kv_bits = source.kv_bits.value_or(16);
  if (!llm.kv.empty()) {
    RIDGE_ASSIGN(const llm::Storage kv, llm::storage(llm.kv));
    setup.kv_bits = kv.matrix_bits;
  }
  const int64_t longest = source.model.context > 0 ? source.model.context : kDefaultContext;
  setup.context = llm.context.value_or(std::min(longest, kDefaultContext));
  setup.prompt = llm.prompt.value_or(std::min(kDefaultPrompt, setup.context));
  if (setup.prompt > setup.context)
    return Error{Code::kInvalid,
                 fmt::format("--prompt {} does not fit into --context {}", setup.prompt, setup.context)};
  setup.reserve = llm.reserve_percent.value_or(kDefaultReservePercent) / 100;
  return setup;
}

Result<LlmPlan> plan_llm(const PlanRequest& request, const LlmSource& source, llm::ForecastSetup setup,
                         const PlanControl& control) {
  RIDGE_ASSIGN(const PlanDevice device, know_device(request, control));
  const int threads = device.machine ? request.threads.value_or(machine::usable_threads(*device.machine)) : 1;
  RIDGE_ASSIGN(const cost::DeviceLimits limits, limits_of(device, threads));
  setup.memory_bytes = device.memory_bytes;
  const int64_t sequences = llm::forecast(source.model, source.parameters, setup, limits).sequences.value_or(0);
  setup.batches = request.binding.insist_on_batch ? predict::batches_of(request.batch) : llm::decode_batches(sequences);
  LlmPlan plan{.forecast = llm::forecast(source.model, source.parameters, setup, limits)};
  RIDGE_ASSIGN(plan.here, plan_here(request, source, setup.prompt, device, plan.forecast.notes));
  setup.batches = {1};
  for (const llm::Storage& format : llm::storages()) {
    setup.weights = format;
    const llm::Forecast f = llm::forecast(source.model, source.parameters, setup, limits);
    plan.by_weights.push_back({format.name, f.weight_bytes, f.sequences, f.decode.front().bound.ms});
  }
  RIDGE_ASSIGN(plan.cost, decoding_cost(request, plan.forecast, device, threads));
  return plan;
}

}  // namespace ridge::app
