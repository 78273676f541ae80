// A language model served by `ridge serve` here: predicted from the line of its steps, measured or estimated.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/decoder_model.h"
#include "app/plan_model.h"
#include "llm/cpu/kept_steps.h"
#include "llm/cpu/step_estimate.h"

namespace ridge::app {
namespace {

constexpr int64_t kDefaultOutput = 256;

// The forms that a decoder has, by the names that plans have for them.
Result<engine::WeightFormat> weights_here(const PlanRequest& request) {
  const std::string& asked = request.llm.weights;
  const std::string checkpoint = checkpoint_folder(request.model);
  if (asked.empty()) return engine::form_of(checkpoint, {});
  const auto form = engine::weight_form(asked);
  if (!form) return Error{Code::kUnsupported, fmt::format("weights as {} are not served on CPUs", asked)};
  return engine::form_of(checkpoint, *form);
}

std::optional<engine::CacheForm> cache_here(const LlmRequest& llm) {
  if (llm.kv.empty() || llm.kv == "int8") return engine::CacheForm::kU8;
  const auto form = engine::cache_form(llm.kv);
  return form ? std::optional(*form) : std::nullopt;
}

// Empty: the model can be served here.
std::string why_not_here(const PlanRequest& request, const llm::Model& model) {
  if (const auto weights = weights_here(request); !weights) return weights.error().message;
  if (request.llm.serving.draft_tokens > 0) return "what drafts gain depends on the texts (leave --draft out)";
  if (!cache_here(request.llm)) return fmt::format("a cache as {} is not served on CPUs", request.llm.kv);
  for (const llm::Layers& layers : model.layers) {
    if (layers.feed_forward.experts > 0) return "models with experts are not served on CPUs";
    if (layers.attention.kind != llm::AttentionKind::kFull && layers.attention.kind != llm::AttentionKind::kWindow)
      return "its kind of attention is not served on CPUs";
  }
  return {};
}

// Fills in the lengths that the request leaves open.
Result<llm::Load> load_here(const PlanRequest& request, const llm::Model& model, int64_t prompt) {
  PlanRequest asked = request;
  ServingRequest& serving = asked.llm.serving;
  serving.prompt = prompt;
  if (!serving.output && model.context > 0)
    serving.output = std::clamp<int64_t>(model.context - prompt, 1, kDefaultOutput);
  if (serving.concurrency == 0 && !request.load && serving.trace.empty()) serving.concurrency = 1;
  RIDGE_ASSIGN(llm::Load load, serving_load(asked));
  const llm::Workload& w = load.workload;
  if (model.context > 0 && w.prompt_max + w.output_max > model.context)
    return invalid(fmt::format("a prompt of {} and an answer of {} tokens do not fit into the model's context of {}",
                               w.prompt_max, w.output_max, model.context));
  return load;
}

}  // namespace

Result<std::optional<llm::cpu::ServingHere>> plan_here(const PlanRequest& request, const LlmSource& source,
                                                       int64_t prompt, const PlanDevice& device,
                                                       std::vector<std::string>& notes) {
  std::optional<llm::cpu::ServingHere> none;
  if (!device.machine || !source.config) return none;
  const llm::Model& model = source.config->model;
  if (const std::string why = why_not_here(request, model); !why.empty()) {
    notes.push_back("no prediction of serving here: " + why);
    return none;
  }
  llm::cpu::ServingHere here;
  here.weights = *weights_here(request);
  here.cache = *cache_here(request.llm);
  here.threads = request.threads.value_or(machine::usable_threads(*device.machine));
  RIDGE_ASSIGN(here.engine, decoder_engine(""));
  RIDGE_ASSIGN(const llm::Load load, load_here(request, model, prompt));
  here.workload = load.workload;
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(*device.machine, here.threads));
  const double quota = machine::quota_factor(*device.machine, here.threads);
  const std::optional<llm::cpu::KeptSteps> kept =
      llm::cpu::recall_steps(llm::cpu::steps_file(device.machine->id, {.config_digest = config_digest(request.model),
                                                                       .engine = here.engine,
                                                                       .weights = here.weights,
                                                                       .cache = here.cache,
                                                                       .threads = here.threads}));
  const llm::cpu::DecoderLimit limit(model, here.weights, here.cache,
                                     kept ? kept->weight_bytes : llm::cpu::weight_bytes_of(model, here.weights), limits,
                                     quota);
  here.line = kept ? kept->line : llm::cpu::estimated_line(limit, here.weights);
  here.error_percent = kept ? kept->error_percent : llm::cpu::estimated_line_error_percent();
  if (kept) here.measured_at = kept->measured_at;
  RIDGE_TRY(llm::cpu::predict_serving(load, limit, here));
  return std::optional(std::move(here));
}

}  // namespace ridge::app
