#include "tune/share/co_located_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/figure.h"
#include "base/schema.h"
#include "base/units.h"
#include "tune/conclusion.h"

namespace ridge::tune::share {
namespace {

struct MemberOfPartition {
  Candidate candidate;
  std::string name;
  Figures figures, expected;
};
void visit_fields(auto& visit, Is<MemberOfPartition> auto& member) {
  visit_fields(visit, member.candidate);
  visit("name", member.name);
  visit("throughput_per_s", member.figures.rows_per_s);
  visit("expected_per_s", member.expected.rows_per_s);
  visit_latency(visit, member.figures);
}

// A partition by its models.
struct NamedPartition {
  PartitionStanding standing;
  std::vector<MemberOfPartition> models;
};
void visit_fields(auto& visit, Is<NamedPartition> auto& named) {
  auto& standing = named.standing;
  visit("models", named.models, means("rows per second beside the others, and expected from each alone"));
  visit("processors", standing.entry.cpus, means("that all of them may keep busy"));
  visit("in_turns", standing.entry.in_turns);
  visit("score", standing.score);
  visit("expected_value", standing.entry.expectation.value);
  visit("most_value", standing.entry.most_value, means("its limit"));
  visit("gain", standing.gain);
  visit.object("memory_bytes", [&](auto& memory) {
    memory("predicted", standing.entry.memory_bytes);
    memory("measured_growth", standing.memory_bytes);
  });
  visit("trials", standing.trials);
}

std::vector<NamedPartition> named(const CoLocatedTuning& sharing) {
  std::vector<NamedPartition> all;
  for (const PartitionStanding& standing : sharing.partitions) {
    NamedPartition& partition = all.emplace_back(standing);
    for (size_t i = 0; i < sharing.models.size(); ++i)
      partition.models.push_back({standing.entry.partition[i], sharing.models[i].member.name, standing.figures[i],
                                  standing.entry.expected[i]});
  }
  return all;
}

// Back from named().
std::vector<PartitionStanding> standings(std::vector<NamedPartition> partitions) {
  std::vector<PartitionStanding> all;
  for (NamedPartition& partition : partitions) {
    PartitionStanding& standing = all.emplace_back(std::move(partition.standing));
    for (MemberOfPartition& member : partition.models) {
      standing.entry.partition.push_back(std::move(member.candidate));
      standing.figures.push_back(member.figures);
      standing.entry.expected.push_back(member.expected);
    }
  }
  return all;
}

// The model whose part decides the value, or the most missed goal.
const TunedModel& tightest(const CoLocatedTuning& sharing) {
  const bool loads = all_have_loads(sharing.members());
  auto slack = [&](const TunedModel& model) {
    if (sharing.choice == Choice::kNone) return model.fulfilment.ratio;
    if (loads) return model.tuning.best.throughput_per_s / *model.member.goal.rows_per_s;
    return model.member.goal.rows_per_s ? HUGE_VAL : model.share();
  };
  return *std::min_element(sharing.models.begin(), sharing.models.end(),
                           [&](const TunedModel& a, const TunedModel& b) { return slack(a) < slack(b); });
}

std::string value_sentence(const CoLocatedTuning& sharing, double value) {
  if (all_have_loads(sharing.members())) return fmt::format("carry {:.2f} times the loads", value);
  return fmt::format("reach at least {} of the solo speed", format_percent(100 * value));
}

std::string missed(const CoLocatedTuning& sharing) {
  std::string text;
  for (const TunedModel& model : sharing.models) {
    if (model.fulfilment.met()) continue;
    const Fulfilment alone = fulfilment_of(model.member.goal, model.member.alone.candidate, model.member.alone.figures);
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", model.member.name, model.fulfilment.miss,
                        alone.met() ? "" : " (not even by the model alone on the whole machine)");
  }
  if (!sharing.refuted.empty()) text += (text.empty() ? "" : "; ") + sharing.refuted;
  return text;
}

}  // namespace

void visit_goal(auto& visit, Is<TunedModel> auto& model) {
  visit("rows_per_s", model.member.goal.rows_per_s, means("the load"));
  visit("p99_ms", model.member.goal.p99_ms);
  visit.derived("met", model.fulfilment.met());
  visit("reason", model.fulfilment.miss);
  visit.or_null("utilisation", model.fulfilment.utilisation, means("by the load"));
  visit.or_null("request_p99_ms", model.fulfilment.request_p99_ms, means("derived"));
  visit("at_load", model.at_load,
        means("measured with all models at their loads; null: there is no load, or the run was interrupted"));
}

void visit_fields(auto& visit, Is<SoloPoint> auto& point) {
  visit_fields(visit, point.candidate);
  visit.derived("text", describe(point.candidate));
  visit("processors", point.cpus);
  visit("throughput_per_s", point.figures.rows_per_s, Figure().column("throughput").in("rows/s"));
  visit_latency(visit, point.figures);
  visit("memory_bytes", point.memory_bytes);
}

void visit_fields(auto& visit, Is<TunedModel> auto& model) {
  visit("name", model.member.name);
  visit.object("goal", [&](auto& goal) { visit_goal(goal, model); });
  visit("alone", model.member.alone,
        means("its fastest point alone").part_columns("throughput_per_s", "alone").leaves(2));
  visit("baseline", model.tuning.baseline,
        means("as `bench MODEL` has it, while all models ran at once")
            .part_columns("throughput_per_s", "untuned")
            .leaves(3));
  visit("best", model.tuning.best, means("likewise").part_columns("throughput_per_s latency_ms percent_of_limit"));
  visit("candidate", model.tuning.candidate);
  visit.derived("share",
                Derived{model.share(), means("throughput: best ÷ alone").column("share of alone").in("share")});
  visit("gain", model.tuning.gain.ratio, means("throughput: best ÷ baseline").column("gain").in("×"));
  visit.derived("text", Derived{describe(model.tuning.candidate), Figure().column("settings")});
  visit.or_null("repository", model.tuning.repository);
}

std::vector<CoLocatedModel> CoLocatedTuning::members() const {
  std::vector<CoLocatedModel> all;
  for (const TunedModel& model : models) all.push_back(model.member);
  return all;
}

CoLocatedTuning summarise_co_located(const PartitionSearch& search, const CoLocatedExploration& explored,
                                     const CoLocatedDecision& decision, const CoLocatedTrial& untuned,
                                     const ResourceBudget& budget) {
  CoLocatedTuning sharing;
  const std::vector<CoLocatedModel>& members = search.members();
  sharing.choice = decision.choice;
  sharing.gain = decision.gain;
  const Gain itself = gain_of(gains_of(untuned, members));
  sharing.noise_percent = 50 * (itself.high - itself.low);
  sharing.untuned = untuned_score(members, decision.trial);
  const bool changed = decision.candidate != untuned_partition(members.size());
  sharing.best = changed ? score_of(members, decision.candidate, candidate_figures(decision.trial)) : sharing.untuned;
  sharing.cpus = budget.cpus;
  int wanted = 0;
  for (const Candidate& candidate : decision.candidate) wanted += cpus_of(candidate);
  sharing.in_turns = wanted > budget.cpus;
  sharing.memory.budget_bytes = budget.memory_bytes;
  sharing.partitions = search.measured();
  for (const PartitionStanding& standing : sharing.partitions)
    if (standing.entry.partition == decision.candidate) sharing.memory.predicted_bytes = standing.entry.memory_bytes;
  sharing.candidates = search.candidates();
  sharing.trials = static_cast<int>(explored.trials.size());
  sharing.reused = explored.reused;
  sharing.skipped = search.skipped();
  sharing.interrupted = explored.interrupted || decision.interrupted;
  return sharing;
}

std::string conclusion(const CoLocatedTuning& sharing) {
  if (sharing.interrupted) {
    Partition so_far;
    for (const TunedModel& model : sharing.models) so_far.push_back(model.tuning.candidate);
    return fmt::format(
        "Interrupted: not confirmed. The best so far: {}. The same command again goes on from these trials.",
        sharing.choice == Choice::kCandidate ? describe_partition(sharing.members(), so_far) : "the engines' defaults");
  }
  if (sharing.choice == Choice::kNone) return fmt::format("The goals cannot be met together: {}.", missed(sharing));
  const bool goals = std::any_of(sharing.models.begin(), sharing.models.end(), [](const TunedModel& model) {
    return model.member.goal.rows_per_s || model.member.goal.p99_ms;
  });
  const TunedModel& last = tightest(sharing);
  const std::string end = fmt::format("{}{} is the tightest: {}.", goals ? "all goals are met; " : "", last.member.name,
                                      limit_sentence(last.tuning.best));
  if (sharing.choice == Choice::kBaseline)
    return fmt::format("Kept the engines' defaults, which {}: no partition was significantly better; {}",
                       value_sentence(sharing, sharing.untuned.value), end);
  Partition partition;
  for (const TunedModel& model : sharing.models) partition.push_back(model.tuning.candidate);
  return fmt::format(
      "{}: together they {}, {:.2f}× (95 %: {:.2f} to {:.2f}) as much as the engines' defaults together; {}",
      describe_partition(sharing.members(), partition), value_sentence(sharing, sharing.best.value), sharing.gain.ratio,
      sharing.gain.low, sharing.gain.high, end);
}

void visit_fields(auto& visit, Is<CoLocatedTuning> auto& sharing) {
  std::vector<NamedPartition> partitions = named(sharing);
  visit("machine", sharing.machine, means("as of `bench device`"));
  visit("models", sharing.models);
  visit.object("value", [&](auto& value) {
    value.derived("what", value_name(sharing.members()));
    value("untuned", sharing.untuned);
    value("best", sharing.best);
  });
  visit("choice", sharing.choice, means("as of one model"));
  visit("gain", sharing.gain, means("of the value, best over untuned, with its 95 % interval"));
  visit("noise_percent", sharing.noise_percent,
        means("half-width of that interval when all untuned models are compared with themselves"));
  visit("processors", sharing.cpus, means("CPUs of the budget"));
  visit("in_turns", sharing.in_turns, means("each model may use all of them"));
  visit("memory_bytes", sharing.memory);
  visit("splits", partitions, means("every measured partition"));
  visit.object("space", [&](auto& space) {
    space("candidates", sharing.candidates, means("combinations"));
    space.derived("measured", sharing.partitions.size());
    space("skipped", sharing.skipped, means("that are not the answer, by reason"));
  });
  visit("trials", sharing.trials, means("of partitions"));
  visit("reused", sharing.reused, means("of these from the store"));
  visit("interrupted", sharing.interrupted);
  visit("not_done", sharing.not_done, means("what `--seconds` left out, one sentence each"));
  visit.unless_empty("disturbance", sharing.disturbance);
  visit("seconds", sharing.seconds);
  visit.derived("conclusion", [&] { return conclusion(sharing); });
  visit.or_null("repository", sharing.repository);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(sharing)>>)
    sharing.partitions = standings(std::move(partitions));
}

Json to_json(const CoLocatedTuning& sharing) { return json_of(sharing); }

void write_schema(Json& schema, const CoLocatedTuning& sharing) {
  SchemaWriter visit(schema);
  visit_fields(visit, sharing);
}

Status read_json(const Json& json, CoLocatedTuning& sharing) {
  RIDGE_TRY(read_fields(json, [&](FieldReader& visit) { visit_fields(visit, sharing); }));
  const size_t models = sharing.models.size();
  if (models == 0) return Error{Code::kInvalid, "member 'models' is empty"};
  for (const PartitionStanding& standing : sharing.partitions)
    if (standing.entry.partition.size() != models)
      return Error{Code::kInvalid, "a split in 'splits' is not of the same models"};
  return {};
}

Json shared_json(const CoLocatedTuning& sharing, size_t model) {
  std::vector<std::string> with;
  for (size_t i = 0; i < sharing.models.size(); ++i)
    if (i != model) with.push_back(sharing.models[i].member.name);
  const TunedModel& own = sharing.models[model];
  Json json;
  FieldWriter visit(json);
  visit("with", with);
  visit.object("goal", [&](auto& goal) { visit_goal(goal, own); });
  visit("alone", own.member.alone);
  visit("share", own.share());
  visit.object("value", [&](auto& value) {
    value("what", value_name(sharing.members()));
    value("best", sharing.best.value);
    value("untuned", sharing.untuned.value);
  });
  visit("gain", sharing.gain);
  visit("conclusion", conclusion(sharing));
  return json;
}

}  // namespace ridge::tune::share
