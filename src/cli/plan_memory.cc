#include "cli/plan_memory.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/model_options.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "model/reader.h"
#include "predict/memory.h"

namespace ridge::cli {
namespace {

// [bytes] and where they come from.
struct Limit {
  double bytes = 0;
  std::string origin;
};

Result<Limit> limit_of(const Study& study) {
  const std::string& given = study.request.options.memory.limit;
  if (!given.empty()) {
    RIDGE_ASSIGN(int64_t bytes, parse_bytes(given));
    return Limit{static_cast<double>(bytes), "--memory-limit"};
  }
  if (study.device.here) return Limit{study.device.memory_bytes, "of the device, as its driver tells it"};
  if (study.device.card) return Limit{study.device.memory_bytes, "of the device (datasheet)"};
  bool group = study.device.machine && study.device.machine->memory.limit_bytes;
  return Limit{study.device.memory_bytes, group ? "of the control group" : "of the machine"};
}

predict::MemoryOptions memory_options(const Study& study) {
  predict::MemoryOptions options;
  options.arena = study.plan.memory_arena;
  options.pattern = study.plan.memory_pattern;
  if (study.device.machine) options.traits = predict::traits_of(study.device.machine->cpu.isa);
  return options;
}

std::string parts_table(const predict::InferenceMemory& m) {
  return table(
      {},
      {{"weights", format_bytes(m.weights), "as the engine holds them: reordered, packed"},
       {"activations", format_bytes(m.activations), "buffers of one run, shared as the engine plans them"},
       {"workspace", format_bytes(m.workspace), "of the one operator that needs most"},
       {"inputs", format_bytes(m.inputs), "held by the caller"},
       {"arena slack", format_bytes(m.arena_slack), "the first run's own layout, rounding, gaps"},
       {"retained", format_bytes(m.retained), "freed while loading, kept by the C library for later use"},
       {"runtime", format_bytes(m.runtime), "process, engine library, session (measured constant)"},
       {"resident", format_bytes(m.resident), "after a few runs: the sum (estimated)"},
       {"loading", format_bytes(m.loading_peak), "the process at its fullest before the first run (estimated)"},
       {"peak", format_bytes(m.peak),
        fmt::format("at any time (estimated); by chance {} to {}", format_bytes(m.peak_low),
                    format_bytes(m.peak_high))}},
      "lrl");
}

struct Fit {
  std::optional<int64_t> batch;  // absent: the file fixes it
  std::optional<int64_t> instances;
};

std::string fit_text(const Fit& fit, const Limit& limit) {
  std::string text = fmt::format("limit {} {}: ", format_bytes(limit.bytes), limit.origin);
  text += fit.batch ? fmt::format("largest batch {}", *fit.batch) : "the file fixes the batch";
  if (fit.instances)
    text += fmt::format(", {} instance{} at this batch", *fit.instances, *fit.instances == 1 ? "" : "s");
  return text + "\n";
}

// Peak over the batch, from two of them.
Result<std::optional<predict::MemoryLine>> line_of(const Study& study, double peak,
                                                   const std::function<double(const model::Graph&)>& peak_of) {
  int64_t batch = study.request.batch.first, other = 2 * std::max<int64_t>(batch, 2);
  RIDGE_ASSIGN(std::optional<model::Graph> graph, graph_at_batch(study, other));
  if (!graph) return std::optional<predict::MemoryLine>();
  return std::optional<predict::MemoryLine>(
      predict::MemoryLine{static_cast<double>(batch), static_cast<double>(other), peak, peak_of(*graph)});
}

Section section_of(Json parts, std::string text, const Fit& fit, const Limit& limit, double peak) {
  parts["limit"] = limit.bytes;
  parts["limit_origin"] = limit.origin;
  parts["instances"] = fit.instances ? Json(*fit.instances) : Json(nullptr);
  bool fits = limit.bytes <= 0 || peak <= limit.bytes;
  parts["fits"] = fits;
  if (!fits) text += fmt::format("does not fit: {} are needed\n", format_bytes(peak));
  Json max_batch = fit.batch ? Json(*fit.batch) : Json(nullptr);
  return Section{{{"memory", std::move(parts)}, {"memory_bytes", {{"inference_peak", peak}}}, {"max_batch", max_batch}},
                 std::move(text),
                 fits ? kDone : kNo};
}

Result<Section> on_this_machine(const Study& study, const Limit& limit) {
  predict::MemoryOptions options = memory_options(study);
  predict::InferenceMemory memory = predict::inference_memory(study.graph, options);
  RIDGE_ASSIGN(std::optional<predict::MemoryLine> line, line_of(study, memory.peak, [&](const model::Graph& graph) {
                 return predict::inference_memory(graph, options).peak;
               }));
  Fit fit;
  if (line)
    fit.batch = predict::largest_batch(
        [&](int64_t batch) { return predict::memory_at(*line, static_cast<double>(batch)); }, limit.bytes);
  fit.instances = predict::instances_that_fit(memory, limit.bytes);
  std::string text = fmt::format("memory of one process, ONNX Runtime on CPU, batch {}\n", study.request.batch.first) +
                     parts_table(memory) + fit_text(fit, limit);
  if (!memory.known) text += "some shapes are unknown: a lower bound\n";
  return section_of(to_json(memory), text, fit, limit, memory.peak);
}

Result<Section> on_a_card(const Study& study, const Limit& limit) {
  auto need = [](const cost::Costs& costs) {
    return costs.weight_bytes + costs.peak_activation_bytes + predict::kAssumedContextBytes;
  };
  double peak = need(study.costs);
  RIDGE_ASSIGN(std::optional<predict::MemoryLine> line, line_of(study, peak, [&](const model::Graph& graph) {
                 return need(cost::count(graph, study.request.precision));
               }));
  Fit fit;
  if (line)
    fit.batch = predict::largest_batch(
        [&](int64_t batch) { return predict::memory_at(*line, static_cast<double>(batch)); }, limit.bytes);
  fit.instances = std::max<int64_t>(0, static_cast<int64_t>(limit.bytes / peak));
  Json parts{{"weights", study.costs.weight_bytes},
             {"activations", study.costs.peak_activation_bytes},
             {"context", predict::kAssumedContextBytes},
             {"peak", peak}};
  std::string text =
      fmt::format("memory on {}, batch {}\n", study.device.card->name, study.request.batch.first) +
      table({},
            {{"weights", format_bytes(study.costs.weight_bytes), "at this precision (derived)"},
             {"activations", format_bytes(study.costs.peak_activation_bytes), "most alive at one time (derived)"},
             {"context", format_bytes(predict::kAssumedContextBytes), "driver and libraries (assumed)"},
             {"peak", format_bytes(peak), "without the engine's workspace: a lower bound (derived)"}},
            "lrl") +
      fit_text(fit, limit);
  return section_of(std::move(parts), text, fit, limit, peak);
}

}  // namespace

void declare(CLI::App& app, MemoryFormOptions& options) {
  app.add_flag("--memory", options.memory);
  app.add_option("--memory-limit", options.limit);
}

bool wanted(const MemoryFormOptions& options) { return options.memory || !options.limit.empty(); }

Status check(const MemoryFormOptions& options) {
  if (options.limit.empty()) return ok_status();
  Result<int64_t> bytes = parse_bytes(options.limit);
  if (!bytes) return wrap(bytes.error(), "--memory-limit");
  return ok_status();
}

Result<std::optional<model::Graph>> graph_at_batch(const Study& study, int64_t batch) {
  model::Binding binding = study.request.binding;
  binding.batch = batch;
  Result<model::Graph> graph = model::read(study.request.options.model, binding);
  // A shape given whole, or a batch that the file fixes, leaves the graph as it is or contradicts the new batch.
  if (!graph || rows_of(*graph) != batch) return std::optional<model::Graph>();
  return std::optional<model::Graph>(std::move(*graph));
}

Result<Section> memory_section(const Study& study) {
  RIDGE_ASSIGN(Limit limit, limit_of(study));
  return study.device.card ? on_a_card(study, limit) : on_this_machine(study, limit);
}

}  // namespace ridge::cli
