#include "precision/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace ridge::precision {
namespace {

Status check_interruption(const SensitivityOptions& options) {
  if (!options.interrupted || !options.interrupted()) return {};
  return Error{Code::kCancelled, "interrupted while the sensitivity of layers was measured"};
}

// Neighbouring nodes [first, last), and their joint cost.
struct Group {
  size_t first = 0, last = 0;
  Deviation deviation;
  size_t size() const { return last - first; }
};

constexpr Deviation kLost{HUGE_VAL, HUGE_VAL, -1, 0};

// All but one group kept.
Result<Deviation> cost_of(const std::vector<std::string>& nodes, const Group& group, const Attempt& attempt) {
  std::set<std::string> kept;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (i < group.first || i >= group.last) kept.insert(nodes[i]);
  Result<AccuracyVerdict> verdict = attempt(kept);
  if (verdict) return verdict->worst;
  if (verdict.error().code == Code::kCancelled) return verdict.error();
  return kLost;
}

// Equal parts of `count` nodes.
std::vector<Group> parts(size_t count, size_t groups) {
  std::vector<Group> result;
  for (size_t i = 0; i < groups; ++i) result.push_back({i * count / groups, (i + 1) * count / groups, {}});
  return result;
}

// The group to halve next: the most costly with several nodes.
std::optional<size_t> worst_of(const std::vector<Group>& groups) {
  std::optional<size_t> worst;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].size() > 1 && (!worst || groups[i].deviation.relative_l2 > groups[*worst].deviation.relative_l2))
      worst = i;
  return worst;
}

std::vector<LayerSensitivity> table_of(const std::vector<std::string>& nodes, const std::vector<Group>& groups) {
  std::vector<LayerSensitivity> table;
  for (const Group& group : groups)
    for (size_t i = group.first; i < group.last; ++i) table.push_back({nodes[i], group.deviation, group.size(), false});
  std::stable_sort(table.begin(), table.end(), [](const LayerSensitivity& a, const LayerSensitivity& b) {
    return a.deviation.relative_l2 > b.deviation.relative_l2;
  });
  return table;
}

struct Budget {
  const SensitivityOptions& options;
  TimePoint begin = options.clock->now();
  double spent() const { return to_seconds(options.clock->now() - begin); }
  // True if another `count` attempts fit, when each takes as long as the last did.
  bool fits(double each, size_t count) const { return spent() + each * static_cast<double>(count) <= options.seconds; }
};

}  // namespace

Result<std::vector<LayerSensitivity>> measure_sensitivity(const std::vector<std::string>& nodes, const Attempt& attempt,
                                                          const SensitivityOptions& options) {
  if (nodes.empty()) return std::vector<LayerSensitivity>{};
  const Budget budget{options};
  Group first{0, 1, {}};  // shows how long one attempt takes
  RIDGE_ASSIGN(first.deviation, cost_of(nodes, first, attempt));
  const double each = std::max(budget.spent(), 1e-9);
  const auto affordable = static_cast<size_t>(std::clamp(options.seconds / each - 1, 1.0, 1e6));
  // Half of the attempts find the costly groups, the other half splits them.
  const size_t rest = nodes.size() - 1;
  const size_t count = rest <= affordable ? rest : std::max<size_t>(1, affordable / 2);
  std::vector<Group> groups = {first};
  for (Group group : parts(rest, std::min(count, rest))) {
    RIDGE_TRY(check_interruption(options));
    ++group.first;
    ++group.last;
    RIDGE_ASSIGN(group.deviation, cost_of(nodes, group, attempt));
    groups.push_back(group);
    if (options.progress) options.progress(std::min(1.0, budget.spent() / std::max(options.seconds, 1e-9)));
  }
  for (std::optional<size_t> worst = worst_of(groups); worst && budget.fits(each, 2); worst = worst_of(groups)) {
    RIDGE_TRY(check_interruption(options));
    Group& left = groups[*worst];
    Group right{left.first + left.size() / 2, left.last, {}};
    left.last = right.first;
    RIDGE_ASSIGN(left.deviation, cost_of(nodes, left, attempt));
    RIDGE_ASSIGN(right.deviation, cost_of(nodes, right, attempt));
    groups.push_back(right);
  }
  return table_of(nodes, groups);
}

Result<KeepList> find_keep_list(std::span<const LayerSensitivity> table, const Attempt& attempt,
                                const SensitivityOptions& options) {
  const Budget budget{options};
  KeepList best;
  if (table.size() < 2) return best;
  double each = 0;
  // True if the first `count` of the table suffice.
  const auto holds = [&](size_t count) -> Result<bool> {
    RIDGE_TRY(check_interruption(options));
    const double before = budget.spent();
    std::set<std::string> kept;
    for (size_t i = 0; i < count; ++i) kept.insert(table[i].node);
    RIDGE_ASSIGN(AccuracyVerdict verdict, attempt(kept));
    ++best.attempts;
    each = budget.spent() - before;
    const bool held = verdict.holds;
    if (held || best.attempts == 1 || !best.verdict.holds) {
      best.kept = std::move(kept);
      best.verdict = std::move(verdict);
    }
    return held;
  };
  size_t fails = 0, works = 0;
  for (size_t count = 1; works == 0; count = std::min(2 * count, table.size() - 1)) {
    RIDGE_ASSIGN(const bool held, holds(count));
    (held ? works : fails) = count;
    if (!held && (count == table.size() - 1 || !budget.fits(each, 1))) return best;
  }
  while (works - fails > 1 && budget.fits(each, 1)) {
    const size_t middle = fails + (works - fails) / 2;
    RIDGE_ASSIGN(const bool held, holds(middle));
    (held ? works : fails) = middle;
  }
  return best;
}

}  // namespace ridge::precision
