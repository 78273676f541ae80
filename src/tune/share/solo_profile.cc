#include "tune/share/solo_profile.h"

#include <algorithm>

#include "tune/share/partitions.h"

namespace ridge::tune::share {
namespace {

// A goal missed alone by more than this, the difference between two measurements, is missed beside others, too.
constexpr double kMissedAnyway = 1 / 1.15;

// A candidate measured by several searches stays with the first, which had the most time.
void take_over_measured(SoloProfile& solo, const Search& search, const Exploration& explored) {
  for (const Standing& standing : search.measured()) {
    const bool there = std::any_of(solo.measured.begin(), solo.measured.end(),
                                   [&](const auto& other) { return other.first.candidate == standing.candidate; });
    const Trial* trial = longest_trial(explored, standing.candidate);
    if (!there && trial != nullptr) solo.measured.emplace_back(standing, *trial);
  }
}

SoloPoint solo_point_of(const Standing& standing, const Trial& trial) {
  SoloPoint point;
  point.candidate = standing.candidate;
  point.cpus = cpus_of(standing.candidate);
  point.figures = standing.outcome.candidate;
  // The derived figure omits the engine's own memory, the measured one the leftovers of an earlier session.
  point.memory_bytes = std::max(standing.entry.memory_bytes, static_cast<double>(trial.candidate.rss_delta_bytes));
  return point;
}

// Picks among points whose runs meet the goal, if any do.
SoloPoint fastest(const std::vector<SoloPoint>& points, const std::optional<double>& p99_ms) {
  const SoloPoint* best = nullptr;
  auto in_time = [&](const SoloPoint& point) { return !p99_ms || point.figures.p99_ms <= *p99_ms; };
  for (const SoloPoint& point : points) {
    const bool sooner = best != nullptr && in_time(point) != in_time(*best);
    if (best == nullptr || (sooner ? in_time(point) : point.figures.rows_per_s > best->figures.rows_per_s))
      best = &point;
  }
  return *best;
}

}  // namespace

std::vector<int> cpu_levels(int cpus) {
  std::vector<int> levels;
  if (cpus >= 4) levels.push_back(cpus - cpus / 4);
  for (int level = cpus; level >= 1; level /= 2) levels.push_back(level);
  std::sort(levels.rbegin(), levels.rend());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

Result<SoloProfile> explore_alone(const SoloRequest& subject, InterleavedBenchmark& benchmark, Store& store,
                                  const TuneOptions& options) {
  const std::vector<int> levels = cpu_levels(subject.space.threads.value_or(machine::usable_threads(subject.machine)));
  auto search_at = [&](int level) {
    SpaceOptions space = subject.space;
    space.threads = level;
    return Search(make_space(subject.machine, subject.graph, subject.implementations, space), options.goal,
                  subject.trials);
  };
  SoloProfile solo{search_at(levels.front()), {}, {}};
  TuneOptions how = options;
  how.seconds = levels.size() > 1 ? options.seconds / 2 : options.seconds;
  RIDGE_ASSIGN(solo.explored, explore(solo.whole, benchmark, store, how));
  take_over_measured(solo, solo.whole, solo.explored);
  how.seconds = options.seconds / 2 / static_cast<double>(std::max<size_t>(1, levels.size() - 1));
  for (size_t i = 1; i < levels.size() && !solo.explored.interrupted; ++i) {
    Search search = search_at(levels[i]);
    RIDGE_ASSIGN(const Exploration explored, explore(search, benchmark, store, how));
    take_over_measured(solo, search, explored);
    solo.explored.interrupted = explored.interrupted;
    solo.explored.reused += explored.reused;
  }
  return solo;
}

CoLocatedModel co_located_model_of(const std::string& name, const ModelGoal& goal, const SoloProfile& solo,
                                   std::vector<SkipCount>& skipped) {
  std::vector<SoloPoint> points;
  for (const auto& [standing, trial] : solo.measured) points.push_back(solo_point_of(standing, trial));
  CoLocatedModel member{name, goal, fastest(points, goal.p99_ms), {}};
  for (const SoloPoint& point : points)
    if (fulfilment_of(goal, point.candidate, point.figures).ratio >= kMissedAnyway) member.points.push_back(point);
  if (member.points.empty()) member.points = points;
  for (size_t i = member.points.size(); i < points.size(); ++i)
    count_skip(skipped, {"misses-goal-alone", "ways to run " + name + " that miss its goal even alone"});
  member.points = worthwhile(member.points);
  return member;
}

}  // namespace ridge::tune::share
