#include "generate/step_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ridge::generate {
namespace {

constexpr size_t kTerms = std::tuple_size_v<LineTerms>;

LineTerms terms_of(const StepLoad& load) { return {1, load.tokens, load.cached, load.pairs, load.rows}; }

void set_terms(StepLine& line, const LineTerms& terms) {
  line.fixed = terms[0];
  line.per_token = terms[1];
  line.per_cached = terms[2];
  line.per_pair = terms[3];
  line.per_row = terms[4];
}

// A few disturbed points may be explained best by what no decoder does, and then tell nonsense of larger steps. A
// cached token is read where a new one is computed. A pair costs 4 · hidden FLOPs per layer where a token costs some 24
// · hidden², so 1/64 is far above what any model has.
bool plausible(const LineTerms& terms) { return terms[2] <= terms[1] && terms[3] <= terms[1] / 64; }

// Solves for the terms in `chosen` (bits), the others are 0. Empty: they are not independent, or one is negative, or
// they are not plausible.
std::optional<LineTerms> solve_of(const NormalEquations& sums, unsigned chosen) {
  std::array<size_t, kTerms> index{};
  size_t count = 0;
  for (size_t term = 0; term < kTerms; ++term) {
    if (((chosen >> term) & 1) == 0) continue;
    if (!(sums.matrix[term][term] > 0)) return {};
    index[count++] = term;
  }
  std::array<std::array<double, kTerms + 1>, kTerms> rows{};
  LineTerms scale{};  // the diagonal becomes 1
  for (size_t i = 0; i < count; ++i) scale[i] = 1 / std::sqrt(sums.matrix[index[i]][index[i]]);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) rows[i][j] = sums.matrix[index[i]][index[j]] * scale[i] * scale[j];
    rows[i][count] = sums.right[index[i]] * scale[i];
  }
  for (size_t i = 0; i < count; ++i) {  // symmetric and positive definite: no pivoting
    if (rows[i][i] < 1e-10) return {};
    for (size_t j = i + 1; j < count; ++j) {
      const double factor = rows[j][i] / rows[i][i];
      for (size_t k = i; k <= count; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  LineTerms found{};
  std::array<double, kTerms> solution{};
  for (size_t i = count; i-- > 0;) {
    double rest = rows[i][count];
    for (size_t j = i + 1; j < count; ++j) rest -= rows[i][j] * solution[j];
    solution[i] = rest / rows[i][i];
    if (solution[i] < 0) return {};
    found[index[i]] = solution[i] * scale[i];
  }
  if (!plausible(found)) return {};
  return found;
}

// Sum of squared relative errors.
double error_of(const StepLine& line, std::span<const StepPoint> points) {
  double sum = 0;
  for (const StepPoint& point : points) {
    const double error = line.seconds(point.load) / point.seconds - 1;
    sum += error * error;
  }
  return sum;
}

}  // namespace

double StepLine::seconds(const StepLoad& load) const { return std::max(floor, fixed + added(load)); }

double StepLine::added(const StepLoad& load) const {
  return per_token * load.tokens + per_cached * load.cached + per_pair * load.pairs + per_row * load.rows;
}

// per_pair / 2 · n² + (per_token + per_pair · (past − 1/2)) · n = what is left
double StepLine::tokens_within(double seconds, const StepLoad& load, double past) const {
  const double left = std::max(seconds, floor) - fixed - added(load) - per_cached * past + per_pair * past - per_row;
  const double linear = per_token + per_pair * (past - 0.5);
  if (left <= 0 || linear <= 0) return left <= 0 ? 0 : std::numeric_limits<double>::infinity();
  // The stable form of the quadratic formula; left / linear where per_pair is 0.
  return 2 * left / (linear + std::sqrt(linear * linear + 2 * per_pair * left));
}

void NormalEquations::add(const LineTerms& terms, double value, double weight) {
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) matrix[i][j] += weight * terms[i] * terms[j];
    right[i] += weight * terms[i] * value;
  }
}

void NormalEquations::forget(double share) {
  for (size_t i = 0; i < kTerms; ++i) {
    for (double& value : matrix[i]) value *= 1 - share;
    right[i] *= 1 - share;
  }
}

LineTerms NormalEquations::solve() const {
  LineTerms best{};
  double least = 0;  // of θᵀMθ − 2θᵀr, which differs from the error by a constant
  for (unsigned chosen = 1; chosen < (1U << kTerms); ++chosen) {
    const auto found = solve_of(*this, chosen);
    if (!found) continue;
    double value = 0;
    for (size_t i = 0; i < kTerms; ++i) value -= (*found)[i] * right[i];  // at the solution θᵀMθ = θᵀr
    if (value < least) {
      least = value;
      best = *found;
    }
  }
  return best;
}

StepLine fit(std::span<const StepPoint> points) {
  std::vector<StepPoint> sorted(points.begin(), points.end());
  const auto tokens = [](const StepPoint& point) { return point.load.tokens; };
  std::ranges::stable_sort(sorted, {}, tokens);
  StepLine best;
  double least = std::numeric_limits<double>::infinity();
  double inverse = 0, inverse_squared = 0;  // of the points at the floor
  for (size_t at_floor = 0; at_floor + 3 <= sorted.size(); ++at_floor) {
    if (at_floor > 0) {
      const double seconds = sorted[at_floor - 1].seconds;
      inverse += 1 / seconds;
      inverse_squared += 1 / (seconds * seconds);
      if (tokens(sorted[at_floor]) == tokens(sorted[at_floor - 1])) continue;  // points of equal tokens stay together
    }
    NormalEquations sums;
    for (size_t i = at_floor; i < sorted.size(); ++i) {
      LineTerms terms = terms_of(sorted[i].load);
      for (double& term : terms) term /= sorted[i].seconds;
      sums.add(terms, 1, 1);
    }
    StepLine line;
    set_terms(line, sums.solve());
    if (at_floor > 0) line.floor = inverse / inverse_squared;
    const double error = error_of(line, sorted);
    if (error < least * (1 - 1e-9)) {
      least = error;
      best = line;
    }
  }
  return best;
}

void RefinedLine::begin(const StepPoint& point) {
  constexpr size_t kEnough = 16, kMost = 256;
  if (points_.size() < kMost) points_.push_back(point);
  const auto [low, high] = std::ranges::minmax(points_, {}, [](const StepPoint& each) { return each.load.tokens; });
  if (points_.size() < kEnough || high.load.tokens < 4 * low.load.tokens) return;
  line_ = first_ = fit(points_);
  if (line_.known()) points_ = {};
}

void RefinedLine::add(const StepPoint& point) {
  if (!(point.seconds > 0)) return;
  if (!line_.known()) return begin(point);
  constexpr double kMemory = 128;  // steps
  const double predicted = line_.seconds(point.load);
  const double error = point.seconds / predicted - 1;
  const double usual = 3 * std::max(usual_error_, 0.01);
  const double weight = std::min(1.0, usual / std::max(std::abs(error), 1e-12));
  usual_error_ += (std::min(std::abs(error), 4 * std::max(usual_error_, 0.01)) - usual_error_) / 16;
  if (line_.floor > line_.fixed + line_.added(point.load)) {
    line_.floor *= 1 + std::clamp(error, -usual, usual) / 16;
    return;
  }
  LineTerms terms = terms_of(point.load);
  for (double& term : terms) term /= predicted;
  sums_.forget(1 / kMemory);
  sums_.add(terms, point.seconds / predicted, weight);
  solve();
}

void RefinedLine::solve() {
  constexpr double kPrior = 0.1;  // steps that each coefficient of the first line is worth
  // Size of a large change of a coefficient that is 0.
  const LineTerms least = {first_.per_token, first_.per_token, first_.per_token / 100, first_.per_token / 1e4,
                           first_.per_token};
  const LineTerms values = {first_.fixed, first_.per_token, first_.per_cached, first_.per_pair, first_.per_row};
  NormalEquations sums = sums_;
  for (size_t i = 0; i < kTerms; ++i) {
    const double scale = std::max(values[i], least[i]);
    sums.matrix[i][i] += kPrior / (scale * scale);
    sums.right[i] += kPrior * values[i] / (scale * scale);
  }
  const LineTerms found = sums.solve();
  if (found[1] > 0) set_terms(line_, found);
}

}  // namespace ridge::generate
