#include "cli/plan_training.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/plan_memory.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "sizing/training_plan.h"

namespace ridge::cli {
namespace {

// Without --training-precision: what --precision stands for in training.
std::string precision_name_of(const TrainingOptions& options, Precision precision) {
  if (!options.precision.empty()) return options.precision;
  if (precision == Precision::kFp16) return "mixed";
  return precision == Precision::kBf16 ? "bf16" : "fp32";
}

Result<sizing::TrainingSetup> setup_of(const TrainingOptions& options, Precision precision) {
  sizing::TrainingSetup setup;
  RIDGE_ASSIGN(setup.optimiser, sizing::optimiser_from_name(options.optimiser));
  RIDGE_ASSIGN(setup.precision, sizing::training_precision_from_name(precision_name_of(options, precision)));
  setup.checkpoint = options.checkpoint;
  setup.accumulate = options.accumulate;
  setup.zero_stage = options.zero;
  setup.devices = options.devices;
  setup.tensor = options.tensor;
  setup.pipeline = options.pipeline;
  setup.offload = options.offload;
  setup.lora_rank = options.lora;
  setup.qlora = options.qlora;
  RIDGE_TRY(check(setup));
  return setup;
}

Precision arithmetic_of(sizing::TrainingPrecision precision) {
  switch (precision) {
    case sizing::TrainingPrecision::kFp32: return Precision::kFp32;
    case sizing::TrainingPrecision::kMixed: return Precision::kFp16;
    case sizing::TrainingPrecision::kBf16: return Precision::kBf16;
  }
  return Precision::kFp32;
}

// Peaks with FP32 accumulators: training frameworks do not accumulate in FP16.
Result<sizing::TrainingDevice> device_of(const Study& study, sizing::TrainingPrecision precision) {
  sizing::TrainingDevice device;
  device.memory_bytes = study.device.memory_bytes;
  cost::DeviceLimits limits = study.limits;
  if (study.device.gpu) {
    RIDGE_ASSIGN(limits, limits_of(study.device, 0, cost::Accumulate::kFp32));
    device.reserved_bytes = sizing::kAssumedReservedBytes;
  }
  device.name = limits.device;
  device.origin = cost::origin_at(limits, arithmetic_of(precision));
  device.flops_per_s = cost::rate_of(limits, arithmetic_of(precision)).flops_per_s;
  return device;
}

std::string bytes_or_dash(const std::optional<double>& bytes) { return bytes ? format_bytes(*bytes) : "-"; }

std::string memory_table(const sizing::TrainingPlan& plan) {
  const sizing::TrainingMemory& m = plan.point.memory;
  const sizing::HandbookMemory& h = plan.handbook.memory;
  std::vector<std::vector<std::string>> rows = {
      {"parameters", format_bytes(m.parameters), format_bytes(h.parameters)},
      {"gradients", format_bytes(m.gradients), format_bytes(h.gradients)},
      {"optimiser", format_bytes(m.optimiser), format_bytes(h.optimiser)},
      {"activations", format_bytes(m.activations), bytes_or_dash(h.activations)},
      {"working", format_bytes(m.working), "-"},
      {"total", format_bytes(m.total()), format_bytes(h.total())}};
  if (m.host > 0) rows.push_back({"in host memory", format_bytes(m.host), "-"});
  return table({"per device", "by the graph", "by the handbook"}, rows, "lrr");
}

std::string speed_text(const sizing::TrainingPlan& plan) {
  if (!plan.point.speed) return "speed: the device's peak at this precision is not known\n";
  const sizing::TrainingSpeed& s = *plan.point.speed;
  std::string text = fmt::format("step {} for {:g} rows, {:.4g} rows/s (estimated): compute {}, starting kernels {}",
                                 format_ms(1e3 * s.step_seconds), s.rows_per_step, s.rows_per_s,
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

std::string curve_table(const sizing::TrainingPlan& plan) {
  if (plan.curve.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const sizing::TrainingPoint& point : plan.curve)
    rows.push_back({std::to_string(point.batch), format_bytes(point.memory.total()),
                    point.speed ? fmt::format("{:.4g}", point.speed->rows_per_s) : "-", point.fits ? "yes" : "no"});
  return "\n" + table({"batch", "memory", "rows/s", "fits"}, rows, "rrrl");
}

std::string fit_text(const sizing::TrainingPlan& plan) {
  if (plan.device.memory_bytes <= 0) return "the device's memory is not known\n";
  std::string reserved = plan.device.reserved_bytes > 0 ? fmt::format(" less {} for the driver (assumed)",
                                                                      format_bytes(plan.device.reserved_bytes))
                                                        : "";
  std::string text =
      fmt::format("{}: {} of {}{}", plan.point.fits ? "fits" : "does not fit", format_bytes(plan.point.memory.total()),
                  format_bytes(plan.device.memory_bytes), reserved);
  if (plan.max_batch) text += fmt::format("; largest batch {}", *plan.max_batch);
  return text + "\n";
}

std::string assumptions_text(const sizing::TrainingPlan& plan) {
  std::string text =
      fmt::format("assumed: {:g} % of {} {} ({}), {:g} µs per kernel\n", 100 * plan.assumptions.efficiency,
                  format_flops_rate(plan.device.flops_per_s), origin_name(plan.device.origin),
                  plan.assumptions.efficiency_source, 1e6 * plan.assumptions.seconds_per_kernel);
  if (sizing::replicas_of(plan.setup) > 1)
    text += fmt::format("assumed: {} reaches {:g} % of {} one way ({}); {:g} % of the exchange hides behind backward\n",
                        plan.link.name, 100 * plan.link.share, format_bandwidth(plan.link.bytes_per_s), plan.link.why,
                        100 * plan.assumptions.overlap);
  return text;
}

std::string text_of(const sizing::TrainingPlan& plan) {
  std::string text =
      fmt::format("training with {}, {}, batch {}{}{}\n", sizing::optimiser_name(plan.setup.optimiser),
                  sizing::training_precision_name(plan.setup.precision), plan.point.batch,
                  plan.setup.accumulate > 1 ? fmt::format(" × {} accumulated", plan.setup.accumulate) : "",
                  plan.setup.devices > 1 ? fmt::format(", {} devices", plan.setup.devices) : "");
  text += memory_table(plan) + fit_text(plan) + speed_text(plan) + curve_table(plan);
  for (const std::string& note : plan.handbook.notes) text += "handbook: " + note + "\n";
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text + assumptions_text(plan);
}

}  // namespace

void declare(CLI::App& app, TrainingOptions& options) {
  app.add_option("--training", options.optimiser);
  app.add_option("--training-precision", options.precision);
  app.add_flag("--checkpoint", options.checkpoint);
  app.add_option("--accumulate", options.accumulate)->check(CLI::PositiveNumber);
  app.add_option("--zero", options.zero)->check(CLI::Range(0, 3));
  app.add_option("--gpus", options.devices)->check(CLI::PositiveNumber);
  app.add_option("--tensor", options.tensor)->check(CLI::PositiveNumber);
  app.add_option("--pipeline", options.pipeline)->check(CLI::PositiveNumber);
  app.add_flag("--offload", options.offload);
  app.add_option("--lora", options.lora)->check(CLI::PositiveNumber);
  app.add_flag("--qlora", options.qlora);
  app.add_option("--link", options.link);
  app.add_option("--overlap", options.overlap)->check(CLI::Range(0.0, 1.0));
  app.add_option("--efficiency", options.efficiency)->check(CLI::Range(0.001, 1.0));
}

bool wanted(const TrainingOptions& options) { return !options.optimiser.empty(); }

Status check(const TrainingOptions& options) {
  bool detail = options.checkpoint || options.offload || options.qlora || options.lora > 0 || options.zero > 0 ||
                options.devices > 1 || options.tensor > 1 || options.pipeline > 1 || options.accumulate > 1 ||
                !options.precision.empty();
  if (!wanted(options)) {
    if (!detail) return ok_status();
    return Error{Code::kInvalid, "these options are of training; say with which optimiser: --training adam"};
  }
  RIDGE_TRY(setup_of(options, Precision::kFp32));
  RIDGE_TRY(sizing::link_from_name(options.link));
  return ok_status();
}

Result<Section> training_section(const Study& study) {
  const TrainingOptions& options = study.request.options.training;
  sizing::TrainingQuestion question;
  RIDGE_ASSIGN(question.setup, setup_of(options, study.request.precision));
  RIDGE_ASSIGN(question.device, device_of(study, question.setup.precision));
  RIDGE_ASSIGN(question.link, sizing::link_from_name(options.link));
  question.assumptions = sizing::assumed_for(question.setup.precision);
  if (options.overlap) question.assumptions.overlap = *options.overlap;
  if (options.efficiency) {
    question.assumptions.efficiency = *options.efficiency;
    question.assumptions.efficiency_source = "--efficiency";
  }
  question.one = &study.graph;
  question.batch = study.request.batch.first;
  question.batch_of_two = 2 * question.batch;
  const std::optional<model::Graph> two = graph_at_batch(study, question.batch_of_two);
  if (two) question.two = &*two;
  sizing::TrainingPlan plan = sizing::plan_training(question);
  return Section{{{"training", to_json(plan)}, {"memory_bytes", {{"training", plan.point.memory.total()}}}},
                 text_of(plan),
                 plan.point.fits ? kDone : kNo};
}

}  // namespace ridge::cli
