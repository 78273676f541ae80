#include "cli/plan_memory.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/model_options.h"
#include "cli/plan_graph.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "predict/engine_process.h"
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
  if (study.device.gpu) return Limit{study.device.memory_bytes, "of the device (datasheet)"};
  bool group = study.device.machine && study.device.machine->memory.limit_bytes;
  return Limit{study.device.memory_bytes, group ? "of the control group" : "of the machine"};
}

std::string parts_table(const predict::InferenceMemory& m) {
  return table(
      {},
      {{"weights", format_bytes(m.weights), "as the engine holds them"},
       {"activations", format_bytes(m.activations), "most of them alive at one time"},
       {"workspace", format_bytes(m.workspace), "of the one convolution that needs most"},
       {"inputs", format_bytes(m.inputs), "held by the caller"},
       {"arena slack", format_bytes(m.arena_slack), "what runs take over what is alive: two layouts, gaps"},
       {"retained", format_bytes(m.retained), "copies of weights made while loading, kept by the C library"},
       {"runtime", format_bytes(m.runtime), "process, engine library, session (measured constant)"},
       {"resident", format_bytes(m.resident), "after a few runs: the sum (estimated)"},
       {"loading", format_bytes(m.loading_peak), "the process at its fullest before the first run (estimated)"},
       {"peak", format_bytes(m.peak),
        fmt::format("at any time (estimated); of 35 recorded points 31 lie between {} and {}", format_bytes(m.peak_low),
                    format_bytes(m.peak_high))}},
      "lrl");
}

// What a process needed that ran the model, or where it was stopped.
struct Measured {
  std::optional<predict::EngineReport> report;
  double stopped_at = 0;  // [bytes]; 0: it was not stopped
  double peak() const { return report ? static_cast<double>(report->steady.peak) : stopped_at; }
};

constexpr int kRuns = 5;

Result<Measured> measure(const Study& study, const Limit& limit) {
  ChildLimits limits = engine_limits(study);
  if (limit.bytes > 0) limits.memory_bytes = std::min(limits.memory_bytes, static_cast<uint64_t>(limit.bytes));
  Result<predict::EngineReport> report = predict::ask_engine(study.plan, kRuns, limits);
  if (report) return Measured{std::move(*report)};
  if (report.error().code == Code::kExhausted) return Measured{std::nullopt, static_cast<double>(limits.memory_bytes)};
  return wrap(report.error(), "--measure");
}

Json json_of(const Measured& measured) {
  if (!measured.report) return Json{{"stopped_at", measured.stopped_at}};
  const predict::EngineReport& report = *measured.report;
  return Json{{"engine", report.engine + " " + report.version},
              {"program", report.start.resident},
              {"loading_peak", report.loaded.peak},
              {"loaded", report.loaded.resident},
              {"resident", report.steady.resident},
              {"peak", report.steady.peak},
              {"runs", report.runs}};
}

std::string text_of(const Measured& measured) {
  if (!measured.report)
    return fmt::format("measured: stopped at {}: the process needs more\n", format_bytes(measured.stopped_at));
  const predict::EngineReport& report = *measured.report;
  auto bytes = [](int64_t count) { return format_bytes(static_cast<double>(count)); };
  return "measured\n" +
         table({},
               {{"loading", bytes(report.loaded.peak), "the process at its fullest before the first run (measured)"},
                {"resident", bytes(report.steady.resident), fmt::format("after {} runs (measured)", report.runs)},
                {"peak", bytes(report.steady.peak),
                 fmt::format("at any time (measured); {} {}, and of it {} the program without an engine", report.engine,
                             report.version, bytes(report.start.resident))}},
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

// Peak over the batch, from two of them; none where the batch cannot be another one.
Result<std::optional<predict::MemoryLine>> line_of(const Study& study, double peak,
                                                   const std::function<Result<double>(const model::Graph&)>& peak_of) {
  const int64_t batch = study.request.batch.first, other = 2 * std::max<int64_t>(batch, 2);
  const std::optional<model::Graph> graph = graph_at_batch(study, other);
  if (!graph) return std::optional<predict::MemoryLine>();
  RIDGE_ASSIGN(const double peak_two, peak_of(*graph));
  return std::optional<predict::MemoryLine>(
      predict::MemoryLine{static_cast<double>(batch), static_cast<double>(other), peak, peak_two});
}

// `peak` as estimated; `needed`: as measured, where it was.
Section section_of(Json parts, std::string text, const Fit& fit, const Limit& limit, double peak, double needed) {
  parts["limit"] = limit.bytes;
  parts["limit_origin"] = limit.origin;
  parts["instances"] = fit.instances ? Json(*fit.instances) : Json(nullptr);
  bool fits = limit.bytes <= 0 || needed <= limit.bytes;
  parts["fits"] = fits;
  if (!fits) text += fmt::format("does not fit: {} are needed\n", format_bytes(needed));
  Json max_batch = fit.batch ? Json(*fit.batch) : Json(nullptr);
  return Section{{{"memory", std::move(parts)}, {"memory_bytes", {{"inference_peak", peak}}}, {"max_batch", max_batch}},
                 std::move(text),
                 fits ? kDone : kNo};
}

// At another batch, by the engine's graph if that was told for the first one.
Result<double> peak_of(const Study& study, const model::Graph& graph) {
  if (!study.engine_graph) return predict::inference_memory(graph, nullptr).peak;
  RIDGE_ASSIGN(const model::Graph executed, engine_graph(study, graph));
  return predict::inference_memory(graph, &executed).peak;
}

Result<Section> on_this_machine(const Study& study, const Limit& limit) {
  const predict::InferenceMemory memory =
      predict::inference_memory(study.graph, study.engine_graph ? &*study.engine_graph : nullptr);
  RIDGE_ASSIGN(std::optional<predict::MemoryLine> line,
               line_of(study, memory.peak, [&](const model::Graph& graph) { return peak_of(study, graph); }));
  Fit fit;
  if (line)
    fit.batch = predict::largest_batch(
        [&](int64_t batch) { return predict::memory_at(*line, static_cast<double>(batch)); }, limit.bytes);
  fit.instances = predict::instances_that_fit(memory, limit.bytes);
  std::string text = fmt::format("memory of one process, ONNX Runtime on CPU, batch {}\n", study.request.batch.first) +
                     parts_table(memory) + fit_text(fit, limit);
  if (!memory.known) text += "some shapes are unknown: a lower bound\n";
  if (!study.engine_graph)
    text += "by the graph as the file has it; ONNX Runtime did not tell its own: " + study.no_engine_graph + "\n";
  Json parts = predict::to_json(memory);
  double peak = memory.peak;
  if (study.request.options.memory.measure) {
    RIDGE_ASSIGN(const Measured measured, measure(study, limit));
    text += text_of(measured);
    parts["measured"] = json_of(measured);
    peak = measured.report ? measured.peak() : std::max(measured.peak(), limit.bytes + 1);
  }
  return section_of(std::move(parts), text, fit, limit, memory.peak, peak);
}

Result<Section> on_a_gpu(const Study& study, const Limit& limit) {
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
      fmt::format("memory on {}, batch {}\n", study.device.gpu->name, study.request.batch.first) +
      table({},
            {{"weights", format_bytes(study.costs.weight_bytes), "at this precision (derived)"},
             {"activations", format_bytes(study.costs.peak_activation_bytes), "most alive at one time (derived)"},
             {"context", format_bytes(predict::kAssumedContextBytes), "driver and libraries (assumed)"},
             {"peak", format_bytes(peak), "without the engine's workspace: a lower bound (derived)"}},
            "lrl") +
      fit_text(fit, limit);
  return section_of(std::move(parts), text, fit, limit, peak, peak);
}

}  // namespace

void declare(CLI::App& app, MemoryFormOptions& options) {
  app.add_flag("--memory", options.memory);
  app.add_option("--memory-limit", options.limit);
  app.add_flag("--measure", options.measure);
}

bool wanted(const MemoryFormOptions& options) { return options.memory || options.measure || !options.limit.empty(); }

Status check(const MemoryFormOptions& options) {
  if (options.limit.empty()) return ok_status();
  Result<int64_t> bytes = parse_bytes(options.limit);
  if (!bytes) return wrap(bytes.error(), "--memory-limit");
  return ok_status();
}

std::optional<model::Graph> graph_at_batch(const Study& study, int64_t batch) {
  Result<model::Graph> graph = graph_at(study, batch);
  // A shape given whole, or a batch that the file fixes, leaves the graph as it is or contradicts the new batch.
  if (!graph || rows_of(*graph) != batch) return std::nullopt;
  return std::move(*graph);
}

Result<Section> memory_section(const Study& study) {
  RIDGE_ASSIGN(Limit limit, limit_of(study));
  return study.device.gpu ? on_a_gpu(study, limit) : on_this_machine(study, limit);
}

}  // namespace ridge::cli
