#include "cli/plan_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/notice.h"
#include "cli/plan_estimate.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "predict/optimised_graph.h"

namespace ridge::cli {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(1);
constexpr Nanoseconds kLongest = std::chrono::minutes(5);
constexpr double kMemoryShare = 0.9;

// What can be said without the engine.
void say_quick_estimate(const Study& study) {
  std::string text = "bound " + format_ms(study.forecast.bound.ms);
  if (const Result<std::optional<predict::Estimate>> quick = estimate_of(study, study.graph); quick && *quick)
    text += fmt::format("; about {} by the graph as the file has it, before the engine's optimisations",
                        format_ms((*quick)->ms));
  say(text + "; asking ONNX Runtime for the graph that it runs");
}

}  // namespace

ChildLimits engine_limits(const Study& study) {
  const machine::Memory& memory = study.device.machine->memory;
  int64_t most = memory.available_bytes > 0 ? memory.available_bytes : memory.total_bytes;
  if (memory.limit_bytes) most = std::min(most, *memory.limit_bytes);
  ChildLimits limits;
  limits.time = kLongest;
  limits.memory_bytes = static_cast<uint64_t>(kMemoryShare * static_cast<double>(most));
  return limits;
}

Result<model::Graph> engine_graph(const Study& study, const model::Graph& bound) {
  Notice notice(system_clock(), kPatience, [&] {
    if (!study.request.options.json) say_quick_estimate(study);
  });
  predict::GraphQuestion question;
  question.plan.model = study.plan.model;
  question.machine = study.device.machine->id;
  question.folder = predict::default_graph_folder();
  question.limits = engine_limits(study);
  question.limits.interrupted = [&] {
    notice.look();
    return false;
  };
  return predict::optimised_graph(study.unbound, bound, question);
}

}  // namespace ridge::cli
