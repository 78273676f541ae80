// The answers on memory: of running the model, and of training it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/schema.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

std::string parts_table(const predict::InferenceMemory& m) {
  return table(
      {},
      {{"weights", format_bytes(m.weights), "as the engine holds them"},
       {"activations", format_bytes(m.activations), "results of nodes, laid out as ONNX Runtime does, and the outputs"},
       {"workspace", format_bytes(m.workspace), "of the convolution that needs the most"},
       {"inputs", format_bytes(m.inputs), "held by the caller"},
       {"arena slack", format_bytes(m.arena_slack),
        "the first run lays buffers out one by one, later ones in one block"},
       {"retained", format_bytes(m.retained), "copies of weights made while loading, kept by the C library"},
       {"runtime", format_bytes(m.runtime), "process, engine library, session (measured constant)"},
       {"resident", format_bytes(m.resident), "after a few runs: the sum (estimated)"},
       {"loading", format_bytes(m.loading_peak), "peak while loading (estimated)"},
       {"peak", format_bytes(m.peak),
        fmt::format("at any time (estimated); 36 of 36 recorded points lie between {} and {}", format_bytes(m.peak_low),
                    format_bytes(m.peak_high))}},
      "lrl");
}

std::string measured_text(const app::MeasuredRun& measured) {
  if (!measured.report)
    return fmt::format("measured: stopped at {}: the process needs more\n", format_bytes(measured.stopped_at));
  const predict::EngineReport& report = *measured.report;
  auto bytes = [](int64_t count) { return format_bytes(static_cast<double>(count)); };
  return "measured\n" +
         table({},
               {{"loading", bytes(report.loaded.peak), "peak while loading (measured)"},
                {"resident", bytes(report.steady.resident), fmt::format("after {} runs (measured)", report.runs)},
                {"peak", bytes(report.steady.peak),
                 fmt::format("at any time (measured); {}, {} of it the program without an engine", report.engine_name(),
                             bytes(report.start.resident))}},
               "lrl");
}

std::string batch_text(int64_t most) {
  return most > 0 ? fmt::format("largest batch {}", most) : "not even one row fits";
}

std::string fit_text(const app::MemoryPlan& plan) {
  std::string text = fmt::format("limit {} {}: ", format_bytes(plan.limit), plan.limit_origin);
  text += plan.max_batch ? batch_text(*plan.max_batch) : "the file fixes the batch";
  return text + fmt::format(", {} at this batch\n", counted(plan.instances, "instance"));
}

std::string process_text(const app::ModelPlan& plan) {
  const predict::InferenceMemory& process = *plan.memory->process;
  std::string text = fmt::format("memory of one process, ONNX Runtime on CPU, batch {}\n", plan.forecast.batch) +
                     parts_table(process) + fit_text(*plan.memory);
  if (!process.known) text += "some shapes are unknown: a lower bound\n";
  if (!process.of_engine_graph)
    text += "from the graph in the file; ONNX Runtime's own is unknown: " + plan.no_engine_graph + "\n";
  return text + (plan.memory->measured ? measured_text(*plan.memory->measured) : "");
}

std::string gpu_text(const app::ModelPlan& plan) {
  const app::MemoryPlan& memory = *plan.memory;
  return fmt::format("memory on {}, batch {}\n", plan.device.gpu->name, plan.forecast.batch) +
         table({},
               {{"weights", format_bytes(memory.weights), "at this precision (derived)"},
                {"activations", format_bytes(memory.activations), "the most alive at one time (derived)"},
                {"context", format_bytes(predict::kAssumedContextBytes), "driver and libraries (assumed)"},
                {"peak", format_bytes(memory.peak), "without the engine's workspace: a lower bound (derived)"}},
               "lrl") +
         fit_text(memory);
}

std::string training_memory(const sizing::TrainingPlan& plan) {
  const sizing::TrainingMemory& m = plan.point.memory;
  std::vector<std::vector<std::string>> rows = {
      {"parameters", format_bytes(m.parameters)}, {"gradients", format_bytes(m.gradients)},
      {"optimiser", format_bytes(m.optimiser)},   {"activations", format_bytes(m.activations)},
      {"working", format_bytes(m.working)},       {"total", format_bytes(m.total())}};
  if (m.host > 0) rows.push_back({"in host memory", format_bytes(m.host)});
  return table({"per device", "memory"}, rows, "lr");
}

std::string training_speed(const sizing::TrainingPlan& plan) {
  if (!plan.point.speed) return "speed: the device's peak at this precision is not known\n";
  const sizing::TrainingSpeed& s = *plan.point.speed;
  std::string text = fmt::format("step {} for {:g} rows, {} (estimated): compute {}, starting kernels {}",
                                 format_ms(1e3 * s.step_seconds), s.rows_per_step, format_row_rate(s.rows_per_s),
                                 format_ms(1e3 * s.compute_seconds), format_ms(1e3 * s.kernel_seconds));
  if (s.bubble_seconds > 0) text += ", pipeline bubble " + format_ms(1e3 * s.bubble_seconds);
  if (s.communication_seconds > 0)
    text += fmt::format(", {} of {} communication not hidden", format_ms(1e3 * s.exposed_seconds),
                        format_ms(1e3 * s.communication_seconds));
  text += '\n';
  int64_t replicas = sizing::replicas_of(plan.setup);
  if (replicas > 1)
    text += fmt::format("scaling {:.2f} × with {} replicas over {}\n", s.scaling, replicas, plan.link.name);
  return text;
}

std::string training_curve(const sizing::TrainingPlan& plan) {
  return plan.curve.empty() ? "" : "\n" + figure_table(schema_of<sizing::TrainingPoint>(), json_of(plan.curve));
}

std::string training_fit(const sizing::TrainingPlan& plan) {
  if (plan.device.memory_bytes <= 0) return "the device's memory is not known\n";
  std::string reserved = plan.device.reserved_bytes > 0 ? fmt::format(" less {} for the driver (assumed)",
                                                                      format_bytes(plan.device.reserved_bytes))
                                                        : "";
  std::string text = fmt::format(
      "{}: {} of {}{}", plan.point.fits ? painted(Meaning::kOk, "fits") : painted(Meaning::kFailed, "does not fit"),
      format_bytes(plan.point.memory.total()), format_bytes(plan.device.memory_bytes), reserved);
  if (plan.max_batch) text += "; " + batch_text(*plan.max_batch);
  return text + "\n";
}

std::string training_assumptions(const sizing::TrainingPlan& plan) {
  std::string text =
      fmt::format("assumed: {:g} % of {} {} ({}), {:g} µs per kernel\n", 100 * plan.assumptions.efficiency,
                  format_flops_rate(plan.device.flops_per_s), origin_name(plan.device.origin),
                  plan.assumptions.efficiency_source, 1e6 * plan.assumptions.seconds_per_kernel);
  if (sizing::replicas_of(plan.setup) > 1)
    text += fmt::format(
        "assumed: {} reaches {:g} % of {} one way ({}); {:g} % of the exchange is hidden behind the backward pass\n",
        plan.link.name, 100 * plan.link.share, format_bandwidth(plan.link.bytes_per_s), plan.link.why,
        100 * plan.assumptions.overlap);
  return text;
}

}  // namespace

std::string memory_text(const app::ModelPlan& plan) {
  const app::MemoryPlan& memory = *plan.memory;
  return (memory.process ? process_text(plan) : gpu_text(plan)) +
         (memory.fits() ? ""
                        : painted(Meaning::kFailed, "does not fit:") +
                              fmt::format(" {} are needed\n", format_bytes(memory.needed)));
}

std::string training_text(const sizing::TrainingPlan& plan) {
  std::string text =
      fmt::format("training with {}, {}, batch {}{}{}\n", sizing::optimiser_name(plan.setup.optimiser),
                  sizing::training_precision_name(plan.setup.precision), plan.point.batch,
                  plan.setup.accumulate > 1 ? fmt::format(" × {} accumulated", plan.setup.accumulate) : "",
                  plan.setup.devices > 1 ? fmt::format(", {} devices", plan.setup.devices) : "");
  text += training_memory(plan) + training_fit(plan) + training_speed(plan) + training_curve(plan);
  for (const std::string& note : plan.notes) text += note_text(note);
  return text + training_assumptions(plan);
}

}  // namespace ridge::cli
