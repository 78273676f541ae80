#include "cli/plan_llm.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/plan_cost.h"
#include "cli/plan_options.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "plan/first_plan.h"
#include "sizing/llm.h"
#include "sizing/llm_config.h"
#include "sizing/llm_graph.h"

namespace ridge::cli {
namespace {

constexpr int64_t kDefaultContext = 4096, kDefaultPrompt = 1024;
constexpr double kDefaultReservePercent = 10;  // as vLLM's gpu_memory_utilization 0.9

// The model, and how its file stores weights and cache where it is a file of weights.
struct Sized {
  sizing::LlmModel model;
  std::optional<sizing::WeightFormat> stored;
  std::optional<double> kv_bits;
};

Result<Sized> sized_config(Result<sizing::LlmConfig> config) {
  if (!config) return config.error();
  Sized sized{sizing::model_of(config->shape), {}, {}};
  sized.model.notes = config->notes;
  return sized;
}

Result<Sized> read_sized(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  if (!options.llm.flags.empty()) return sized_config(sizing::llm_config_from_flags(options.llm.flags));
  if (options.model.ends_with(".json")) {
    RIDGE_ASSIGN(std::string text, read_file(options.model));
    RIDGE_ASSIGN(Json json, parse_json(text, options.model));
    return sized_config(sizing::llm_config_from_json(json, options.model));
  }
  model::Binding binding = request.binding;
  binding.batch.reset();  // the cache's inputs are sized whatever it is
  RIDGE_ASSIGN(model::Graph graph, model::read(options.model, binding));
  Result<sizing::LlmGraph> found = sizing::llm_from_graph(graph, options.model);
  if (!found) return wrap(found.error(), options.model);
  return Sized{found->model, found->stored, found->kv_bits};
}

std::string_view weights_of(Precision precision) {
  switch (precision) {
    case Precision::kFp8: return "fp8";
    case Precision::kInt8: return "int8";
    case Precision::kBf16: return "bf16";
    case Precision::kFp16: return "fp16";
    default: return "fp32";
  }
}

Result<sizing::LlmWishes> wishes_of(const PlanRequest& request, const Sized& sized) {
  const LlmOptions& options = request.options.llm;
  sizing::LlmWishes wishes;
  wishes.precision = request.precision;
  bool wide = sized.stored && sized.stored->matrix_bits > 24;  // an ONNX file in FP32 is computed so
  if (request.options.precision.empty() && wide) wishes.precision = Precision::kFp32;
  if (options.weights.empty() && sized.stored) {
    wishes.weights = *sized.stored;
  } else {
    RIDGE_ASSIGN(wishes.weights, sizing::weight_format(options.weights.empty() ? weights_of(request.precision)
                                                                               : std::string_view(options.weights)));
  }
  if (options.kv.empty()) {
    wishes.kv_bits = sized.kv_bits.value_or(16);
  } else {
    RIDGE_ASSIGN(sizing::WeightFormat kv, sizing::weight_format(options.kv));
    wishes.kv_bits = kv.matrix_bits;
  }
  wishes.context = options.context.value_or(sized.model.context > 0 ? std::min(sized.model.context, kDefaultContext)
                                                                    : kDefaultContext);
  wishes.prompt = options.prompt.value_or(std::min(kDefaultPrompt, wishes.context));
  if (wishes.prompt > wishes.context)
    return Error{Code::kInvalid,
                 fmt::format("--prompt {} does not fit into --context {}", wishes.prompt, wishes.context)};
  wishes.reserve = options.reserve_percent.value_or(kDefaultReservePercent) / 100;
  return wishes;
}

struct Answer {
  PlanDevice device;
  int threads = 1;
  sizing::LlmForecast forecast;
  std::vector<sizing::LlmForecast> by_weights;  // the same in every form of weights
};

Result<Answer> size(const PlanRequest& request, const Sized& sized, sizing::LlmWishes wishes) {
  Answer answer;
  RIDGE_ASSIGN(answer.device, know_device(request));
  if (const auto& machine = answer.device.machine)
    answer.threads = request.options.threads.value_or(machine::usable_threads(*machine));
  RIDGE_ASSIGN(cost::DeviceLimits limits, limits_of(answer.device, answer.threads));
  wishes.memory_bytes = answer.device.memory_bytes;
  int64_t sequences = sizing::forecast(sized.model, wishes, limits).sequences;
  wishes.batches =
      request.options.batch.empty() ? sizing::decode_batches(sequences) : predict::batches_of(request.batch);
  answer.forecast = sizing::forecast(sized.model, wishes, limits);
  wishes.batches = {1};
  for (const sizing::WeightFormat& format : sizing::weight_formats()) {
    wishes.weights = format;
    answer.by_weights.push_back(sizing::forecast(sized.model, wishes, limits));
  }
  return answer;
}

std::string tokens_rate(double rate) { return fmt::format("{:.4g} tokens/s", rate); }

std::string limit_text(const cost::Bound& bound) {
  return fmt::format("limited by {}: compute {}, memory {} (derived)", cost::limiter_name(bound.limiter),
                     format_ms(bound.compute_ms), format_ms(bound.memory_ms));
}

std::string sequences_text(const sizing::LlmForecast& f) {
  if (f.usable_bytes <= 0) return "the device's memory is not known";
  if (f.fits) return fmt::format("of {} tokens each fit at once (derived)", f.wishes.context);
  return fmt::format("does not fit: weights and one sequence of {} tokens need {} such devices at least (derived)",
                     f.wishes.context, f.devices_for_weights);
}

std::string summary(const sizing::LlmForecast& f, const LlmOptions& options) {
  std::string active =
      f.parameters.experts > 0 ? format_count(f.parameters.active) + " used per token (derived)" : "(derived)";
  std::vector<std::vector<std::string>> rows = {
      {"parameters", format_count(f.parameters.total), active},
      {"weights", format_bytes(f.weight_bytes),
       fmt::format("{}{} (derived)", f.wishes.weights.name == "as stored" ? "" : "as ", f.wishes.weights.name)},
      {"cache", format_bytes(f.kv_bytes_per_token),
       fmt::format("per token at {:g} bits; {} per sequence of {} tokens (derived)", f.wishes.kv_bits,
                   format_bytes(f.kv_bytes_per_sequence), f.wishes.context)}};
  if (f.usable_bytes > 0)
    rows.push_back(
        {"usable", format_bytes(f.usable_bytes),
         fmt::format("of {}; {:g} % kept for activations and the engine ({})", format_bytes(f.wishes.memory_bytes),
                     100 * f.wishes.reserve, options.reserve_percent ? "--reserve" : "assumed, --reserve")});
  rows.push_back({"sequences", f.usable_bytes > 0 ? std::to_string(f.sequences) : "-", sequences_text(f)});
  rows.push_back({"first token", format_ms(f.prefill.ms),
                  fmt::format("at least, for a prompt of {} tokens; {}", f.wishes.prompt, limit_text(f.prefill))});
  rows.push_back({"prefill", tokens_rate(f.prefill_tokens_per_s), "at most"});
  return table({}, rows, "lrl");
}

std::string decode_table(const sizing::LlmForecast& f) {
  std::vector<std::vector<std::string>> rows;
  for (const sizing::LlmDecode& step : f.decode)
    rows.push_back({std::to_string(step.batch), format_ms(step.bound.ms), tokens_rate(step.tokens_per_s),
                    tokens_rate(step.tokens_per_s / static_cast<double>(step.batch)),
                    std::string(cost::limiter_name(step.bound.limiter)), step.fits ? "" : "does not fit"});
  return table({"sequences", "step, at least", "all, at most", "each, at most", "limiter", ""}, rows, "rrrrll");
}

std::string weights_table(const std::vector<sizing::LlmForecast>& forecasts) {
  std::vector<std::vector<std::string>> rows;
  for (const sizing::LlmForecast& f : forecasts)
    rows.push_back({std::string(f.wishes.weights.name), format_bytes(f.weight_bytes),
                    f.usable_bytes > 0 ? std::to_string(f.sequences) : "-", format_ms(f.decode.front().bound.ms),
                    tokens_rate(f.decode.front().tokens_per_s)});
  return table({"weights as", "bytes", "sequences", "step of one", "at most"}, rows, "lrrrr");
}

std::string text_of(const Answer& answer, const LlmOptions& options) {
  const sizing::LlmForecast& f = answer.forecast;
  std::string text = fmt::format("{} · weights {} · {} · {} ({})\n", f.model, f.wishes.weights.name,
                                 precision_name(f.wishes.precision), f.device, origin_name(f.origin));
  text += summary(f, options);
  for (const std::string& note : f.notes) text += "note: " + note + "\n";
  text += fmt::format("\ndecode, every sequence holding {} tokens\n", f.wishes.context) + decode_table(f);
  return text + "\n" + weights_table(answer.by_weights);
}

Json json_of(const Answer& answer) {
  Json json = to_json(answer.forecast);
  Json forms = Json::array();
  for (const sizing::LlmForecast& f : answer.by_weights)
    forms.push_back({{"weights", f.wishes.weights.name},
                     {"weight_bytes", f.weight_bytes},
                     {"sequences", f.usable_bytes > 0 ? Json(f.sequences) : Json()},
                     {"decode_bound_ms", f.decode.front().bound.ms}});
  json["by_weights"] = forms;
  return json;
}

std::string csv_of(const sizing::LlmForecast& f) {
  std::string text = "batch,bound_ms,tokens_per_s,limiter,bytes,flops,fits\n";
  for (const sizing::LlmDecode& step : f.decode)
    text += fmt::format("{},{},{},{},{},{},{}\n", step.batch, step.bound.ms, step.tokens_per_s,
                        cost::limiter_name(step.bound.limiter), step.bytes, step.flops, step.fits);
  return text;
}

// Of decoding with as many sequences as fit, one token each per step.
Result<std::optional<Section>> cost_of(const PlanRequest& request, const Answer& answer) {
  if (!wanted(request.options.cost)) return std::optional<Section>();
  CostSubject subject{request.options.cost, answer.device, answer.forecast.device, answer.threads, {}, "token"};
  for (const sizing::LlmDecode& step : answer.forecast.decode)
    if (step.fits && step.bound.ms > 0)
      subject.services.push_back(
          {step.batch, step.bound.ms, "the bound of one step of decoding: no real one is faster"});
  if (subject.services.empty()) return std::optional<Section>();
  RIDGE_ASSIGN(Section section, cost_section(subject));
  return std::optional<Section>(std::move(section));
}

void show(const PlanRequest& request, const Answer& answer, const std::optional<Section>& cost) {
  if (request.options.csv) return print(csv_of(answer.forecast));
  if (!request.options.json) {
    print(text_of(answer, request.options.llm) + (cost ? "\n" + cost->text : ""));
    return;
  }
  Json json = json_of(answer);
  if (cost)
    for (const auto& [name, value] : cost->members) json[name] = value;
  print_json(json);
}

}  // namespace

void declare(CLI::App& app, LlmOptions& options) {
  app.add_option("--llm", options.flags);
  app.add_option("--context", options.context)->check(CLI::PositiveNumber);
  app.add_option("--prompt", options.prompt)->check(CLI::PositiveNumber);
  app.add_option("--weights", options.weights);
  app.add_option("--kv", options.kv);
  app.add_option("--reserve", options.reserve_percent)->check(CLI::Range(0.0, 99.0));
}

bool is_llm(const PlanOptions& options) {
  const LlmOptions& llm = options.llm;
  return !llm.flags.empty() || options.model.ends_with(".json") || llm.context || llm.prompt || !llm.weights.empty() ||
         !llm.kv.empty() || llm.reserve_percent;
}

int plan_llm(const PlanRequest& request) {
  Result<Sized> sized = read_sized(request);
  if (!sized) {
    int failed = fail("plan", sized.error());
    return request.options.llm.flags.empty() ? failed : kUsage;
  }
  Result<sizing::LlmWishes> wishes = wishes_of(request, *sized);
  if (!wishes) {
    fail("plan", wishes.error());
    return kUsage;
  }
  Result<Answer> answer = size(request, *sized, *wishes);
  if (!answer) return fail("plan", answer.error());
  Result<std::optional<Section>> cost = cost_of(request, *answer);
  if (!cost) return fail("plan", cost.error());
  show(request, *answer, *cost);
  return answer->forecast.fits ? kDone : kNo;
}

}  // namespace ridge::cli
