#include "tune/share/partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"

namespace ridge::tune::share {
namespace {

// Combinations to consider; beyond it each model brings fewer points per number of CPUs.
constexpr size_t kMostCombinations = 50000;

bool no_worse(const SoloPoint& a, const SoloPoint& b) {
  return a.figures.rows_per_s >= b.figures.rows_per_s && a.figures.p99_ms <= b.figures.p99_ms &&
         a.memory_bytes <= b.memory_bytes;
}

// Keeps at most `most` points per number of CPUs, the fastest first.
std::vector<SoloPoint> fewer(const std::vector<SoloPoint>& points, size_t most) {
  std::vector<SoloPoint> kept;
  for (const SoloPoint& point : points) {
    const auto same = [&](const SoloPoint& other) { return other.cpus == point.cpus; };
    if (static_cast<size_t>(std::count_if(kept.begin(), kept.end(), same)) < most) kept.push_back(point);
  }
  return kept;
}

using PointPerModel = std::vector<const SoloPoint*>;

// Slowdown where more threads want to run than there are CPUs.
double crowding(const PointPerModel& choice, int cpus) {
  int wanted = 0;
  for (const SoloPoint* point : choice) wanted += point->cpus;
  return std::max(1.0, static_cast<double>(wanted) / cpus);
}

double number_of(int cpus) { return static_cast<double>(cpus); }

// Σ CPUs · (share of the time that the member needs for `value` times its part) ≤ CPUs of the machine.
double most_value(std::span<const CoLocatedModel> members, const PointPerModel& choice, int cpus) {
  const bool loads = all_have_loads(members);
  double least = std::numeric_limits<double>::infinity(), needed = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    const CoLocatedModel& member = members[i];
    if (!loads && member.goal.rows_per_s) continue;
    const double part = loads ? *member.goal.rows_per_s : member.alone.figures.rows_per_s;
    least = std::min(least, choice[i]->figures.rows_per_s / part);
    needed += number_of(choice[i]->cpus) * part / choice[i]->figures.rows_per_s;
  }
  return std::min(least, number_of(cpus) / needed);
}

PartitionOption entry_of(std::span<const CoLocatedModel> members, const PointPerModel& choice,
                         const ResourceBudget& budget) {
  PartitionOption entry;
  const double crowd = crowding(choice, budget.cpus);
  entry.memory_bytes = budget.process_bytes;
  for (const SoloPoint* point : choice) {
    entry.partition.push_back(point->candidate);
    const Figures& alone = point->figures;
    entry.expected.push_back(
        {.rows_per_s = alone.rows_per_s / crowd, .p50_ms = alone.p50_ms * crowd, .p99_ms = alone.p99_ms * crowd});
    entry.memory_bytes += point->memory_bytes;
    entry.cpus += point->cpus;
  }
  entry.in_turns = entry.cpus > budget.cpus;
  entry.expectation = score_of(members, entry.partition, entry.expected);
  entry.most_value = most_value(members, choice, budget.cpus);
  return entry;
}

// Passes every choice of one point per member to `use`.
template <typename Use>
void for_each_choice(const std::vector<std::vector<SoloPoint>>& points, PointPerModel& choice, Use& use) {
  if (choice.size() == points.size()) return use(choice);
  for (const SoloPoint& point : points[choice.size()]) {
    choice.push_back(&point);
    for_each_choice(points, choice, use);
    choice.pop_back();
  }
}

size_t combinations(const std::vector<std::vector<SoloPoint>>& points) {
  size_t product = 1;
  for (const std::vector<SoloPoint>& own : points) product = std::min(product * own.size(), kMostCombinations + 1);
  return product;
}

// Keeps the number of points per member that can be combined.
std::vector<std::vector<SoloPoint>> combinable(std::span<const CoLocatedModel> members) {
  std::vector<std::vector<SoloPoint>> points;
  for (size_t most = 8; most > 0; --most) {
    points.clear();
    for (const CoLocatedModel& member : members) points.push_back(fewer(member.points, most));
    if (combinations(points) <= kMostCombinations) break;
  }
  return points;
}

// Says why a choice is not worth considering; empty = it is.
SkipReason unfit(std::span<const CoLocatedModel> members, const PointPerModel& choice, const ResourceBudget& budget) {
  int wanted = 0;
  double memory = budget.process_bytes;
  bool all_whole = true, all_single = true;
  for (const SoloPoint* point : choice) {
    wanted += point->cpus;
    memory += point->memory_bytes;
    all_whole = all_whole && point->cpus == budget.cpus;
    all_single = all_single && point->cpus == 1;
  }
  // More models than CPUs: one thread each is the least.
  const bool least = all_single && static_cast<int>(members.size()) > budget.cpus;
  if (wanted > budget.cpus && !all_whole && !least)
    return {"threads", fmt::format("needs more threads than the {} allow", counted(budget.cpus, "CPU"))};
  if (budget.memory_bytes > 0 && memory > budget.memory_bytes)
    return {"memory",
            fmt::format("does not fit into the memory budget of {} (predicted)", format_bytes(budget.memory_bytes))};
  return {};
}

bool more_promising(const PartitionOption& a, const PartitionOption& b) {
  if (a.expectation.met != b.expectation.met) return a.expectation.met;
  if (!a.expectation.met && a.expectation.closeness != b.expectation.closeness)
    return a.expectation.closeness > b.expectation.closeness;
  return a.expectation.value > b.expectation.value;
}

}  // namespace

std::vector<SoloPoint> worthwhile(std::vector<SoloPoint> points) {
  std::vector<SoloPoint> kept;
  for (size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < points.size() && !beaten; ++j) {
      if (i == j || points[j].cpus != points[i].cpus || !no_worse(points[j], points[i])) continue;
      beaten = !no_worse(points[i], points[j]) || j < i;  // of equal ones the first stays
    }
    if (!beaten) kept.push_back(points[i]);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const SoloPoint& a, const SoloPoint& b) { return a.figures.rows_per_s > b.figures.rows_per_s; });
  return kept;
}

PartitionSpace make_partitions(std::span<const CoLocatedModel> members, const ResourceBudget& budget) {
  PartitionSpace space;
  auto consider = [&](const PointPerModel& choice) {
    if (const SkipReason reason = unfit(members, choice, budget))
      count_skip(space.skipped, reason);
    else
      space.entries.push_back(entry_of(members, choice, budget));
  };
  PointPerModel choice;
  for_each_choice(combinable(members), choice, consider);
  std::stable_sort(space.entries.begin(), space.entries.end(), more_promising);
  return space;
}

std::string partition_text(std::span<const CoLocatedModel> members, const Partition& partition) {
  std::string result;
  for (size_t i = 0; i < partition.size(); ++i)
    result += (i == 0 ? "" : " | ") + members[i].name + ": " + text(partition[i]);
  return result;
}

std::string describe_partition(std::span<const CoLocatedModel> members, const Partition& partition) {
  std::string result;
  for (size_t i = 0; i < partition.size(); ++i)
    result += (i == 0 ? "" : "; ") + members[i].name + ": " + describe(partition[i]);
  return result;
}

}  // namespace ridge::tune::share
