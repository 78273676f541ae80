#include "cli/tune_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

constexpr size_t kSplitRows = 8;  // the rest is in the JSON

std::string goal_of(const tune::share::ModelGoal& goal) {
  std::string text = goal.rows_per_s ? format_row_rate(*goal.rows_per_s) : "";
  if (goal.p99_ms) text += fmt::format("{}p99 ≤ {}", text.empty() ? "" : ", ", format_ms(*goal.p99_ms));
  return text.empty() ? "equal shares" : text;
}

bool has_goal(const tune::share::ModelGoal& goal) { return goal.rows_per_s || goal.p99_ms; }

std::string models_text(const tune::share::CoLocatedTuning& sharing) {
  OwnColumn names{"model"}, goals{"goal", {}, "l4"}, met{"met", {}, "l5"};
  for (const tune::share::TunedModel& model : sharing.models) {
    names.cells.push_back(model.member.name);
    goals.cells.push_back(goal_of(model.member.goal));
    met.cells.emplace_back(!has_goal(model.member.goal) ? "" : model.fulfilment.met() ? "yes" : "no");
  }
  return figure_table("tune-share", "models", to_json(sharing)["models"], {}, {{names}, {goals, met}});
}

// Under a load: the utilisation of the model's instances, and a request's time.
std::string loads_text(const tune::share::CoLocatedTuning& sharing) {
  std::string text;
  for (const tune::share::TunedModel& model : sharing.models) {
    if (!model.member.goal.rows_per_s) continue;
    text += fmt::format("{}: {} keep it {} busy; a request's p99 including queueing: {} (derived)", model.member.name,
                        format_row_rate(*model.member.goal.rows_per_s),
                        format_percent(100 * model.fulfilment.utilisation), format_ms(model.fulfilment.request_p99_ms));
    if (model.at_load)
      text +=
          fmt::format(", {} (measured, {} runs at {}, all models at once)", format_ms(model.at_load->request_p99_ms),
                      model.at_load->runs, format_row_rate(model.at_load->done_per_s));
    text += '\n';
  }
  return text;
}

std::string partitions_text(const tune::share::CoLocatedTuning& sharing) {
  std::vector<const tune::share::PartitionStanding*> sorted;
  for (const tune::share::PartitionStanding& standing : sharing.partitions) sorted.push_back(&standing);
  std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) {
    return a->score.met != b->score.met ? a->score.met : a->gain.ratio > b->gain.ratio;
  });
  const std::vector<tune::share::CoLocatedModel> members = sharing.members();
  std::vector<std::vector<std::string>> rows;
  for (const tune::share::PartitionStanding* standing : sorted) {
    if (rows.size() == kSplitRows) break;
    rows.push_back({tune::share::describe_partition(members, standing->entry.partition),
                    format_count(standing->score.value), format_count(standing->entry.expectation.value),
                    fmt::format("{:.2f}×", standing->gain.ratio), standing->score.met ? "yes" : "no"});
  }
  if (rows.empty()) return "";
  return "\n" +
         table({"measured together", tune::share::value_name(members), "expected", "gain", "goals met"}, rows, "lrrrl");
}

std::string memory_text(const tune::share::MemoryUse& memory) {
  std::string text = "memory of the process:";
  if (memory.predicted_bytes > 0) text += fmt::format(" {} predicted", format_bytes(memory.predicted_bytes));
  if (memory.measured_bytes)
    text += fmt::format("{} {} measured", memory.predicted_bytes > 0 ? "," : "", format_bytes(*memory.measured_bytes));
  if (memory.budget_bytes > 0)
    text += fmt::format("; budget {} ({})", format_bytes(memory.budget_bytes), memory.budget_source);
  return text + "\n";
}

}  // namespace

std::string co_located_text(const tune::share::CoLocatedTuning& sharing) {
  std::string text = models_text(sharing) + loads_text(sharing) + partitions_text(sharing);
  text += fmt::format(
      "\n{} of {} partitions of {} CPUs measured in {} trials ({} reused), {:.0f} s; noise between repeats of the "
      "untuned models: "
      "±{:.1f} %\n",
      sharing.partitions.size(), sharing.candidates, sharing.cpus, sharing.trials, sharing.reused, sharing.seconds,
      sharing.noise_percent);
  for (const tune::SkipCount& skipped : sharing.skipped)
    text += fmt::format("  {:>4} skipped: {}\n", skipped.count, skipped.reason.text);
  text += memory_text(sharing.memory);
  if (!sharing.repository.empty()) text += fmt::format("written: {}\n", sharing.repository);
  for (const std::string& what : sharing.not_done) text += "--seconds ended: " + what + "\n";
  if (machine::disturbed(sharing.disturbance))
    text += machine::sentence(*sharing.disturbance) + ". Gains hold; rates and latencies are not the models'.\n";
  if (sharing.interrupted) text += "interrupted: this is the best so far, by the search's own trials\n";
  return text + conclusion(sharing);
}

}  // namespace ridge::cli
