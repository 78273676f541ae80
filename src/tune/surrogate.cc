#include "tune/surrogate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <tuple>

namespace ridge::tune {
namespace {

// Prior standard deviations of the effects, in ln units. Chosen on synthetic machines (search_landscape_test, with
// other seeds than its own), from 2 CPUs and one variant to 64 and ten: halving or doubling any of them changes the
// result by a per cent or two.
constexpr double kLevel = 0.7;            // of the whole landscape: how far engines stay below limits
constexpr double kEngine = 0.2;           // one engine beside another
constexpr double kVariant = 0.8;          // one precision beside another
constexpr double kEngineVariant = 0.4;    // a precision that one engine does badly
constexpr double kSlope = 0.4;            // deviation of a figure from following its limit
constexpr double kLayout = 0.5;           // threads × instances
constexpr double kBatch = 0.5;            // batch
constexpr double kLayoutBatch = 0.2;      // … and both together
constexpr double kVariantLayout = 0.3;    // a layout that suits one variant of one engine
constexpr double kVariantBatch = 0.3;     // likewise a batch
constexpr double kOptions = 0.05;         // engine options
constexpr double kOptionsLayout = 0.03;   // … in one layout
constexpr double kOptionsVariant = 0.03;  // … of one variant
constexpr double kOwn = 0.03;             // of this candidate alone
constexpr double kExpectedSlope = 0.6;    // of the figure over its limit, both in logarithms
// Length scales of ordered parameters, in doublings.
constexpr double kLayoutLength = 1.5;
constexpr double kBatchLength = 1.2;

constexpr double square(double x) { return x * x; }

double resemblance(double distance_squared, double length) {
  return std::exp(-0.5 * distance_squared / square(length));
}

double covariance(const Point& a, const Point& b, bool same) {
  const double layout = resemblance(square(a.threads - b.threads) + square(a.instances - b.instances), kLayoutLength);
  const double batch = resemblance(square(a.batch - b.batch), kBatchLength);
  const bool variant = a.variant == b.variant;
  const bool both = variant && a.engine == b.engine;
  double sum = square(kLevel) + square(kSlope) * a.expected * b.expected;
  sum += square(kLayout) * layout + square(kBatch) * batch + square(kLayoutBatch) * layout * batch;
  if (a.engine == b.engine) sum += square(kEngine);
  if (variant) sum += square(kVariant);
  if (both) sum += square(kEngineVariant) + square(kVariantLayout) * layout + square(kVariantBatch) * batch;
  if (a.options == b.options) {
    sum += square(kOptions) + square(kOptionsLayout) * layout;
    if (both) sum += square(kOptionsVariant);
  }
  return same ? sum + square(kOwn) : sum;
}

// Numbers values 0, 1, … in order of first occurrence.
template <typename Key>
class Levels {
 public:
  int of(const Key& key) { return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second; }

 private:
  std::map<Key, int> numbers_;
};

double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

size_t row_begin(size_t row) { return row * (row + 1) / 2; }

}  // namespace

std::vector<Point> points_of(std::span<const PricedCandidate> entries, Objective objective) {
  Levels<std::string> engines, variants;
  Levels<std::tuple<plan::Spin, int, int, std::map<std::string, std::string>>> options;
  std::vector<Point> points;
  double sum_known = 0, sum_unknown = 0;
  double known = 0;
  for (const PricedCandidate& entry : entries) {
    const Candidate& c = entry.candidate;
    Point point;
    point.engine = engines.of(c.engine);
    point.variant = variants.of(c.variant);
    point.options = options.of({c.spin, c.inter_op_threads, c.block_base, c.options});
    point.threads = std::log2(std::max(c.threads, 1));
    point.instances = std::log2(c.instances);
    point.batch = std::log2(static_cast<double>(c.batch));
    const bool limited = entry.max_rows_per_s > 0;
    const double used = std::numbers::ln2 * (point.threads + point.instances);
    point.expected = (limited ? std::log(entry.max_rows_per_s) : used) - (objective == Objective::kCost ? used : 0);
    (limited ? sum_known : sum_unknown) += point.expected;
    if (limited) ++known;
    points.push_back(point);
  }
  const double unknown = static_cast<double>(entries.size()) - known;
  for (size_t i = 0; i < points.size(); ++i)  // both kinds around zero: their scales are unrelated
    points[i].expected -= entries[i].max_rows_per_s > 0 ? sum_known / known : sum_unknown / unknown;
  return points;
}

Surrogate::Surrogate(std::vector<Point> points) : points_(std::move(points)), columns_(points_.size()) {}

const std::vector<double>& Surrogate::column(size_t point) {
  std::vector<double>& column = columns_[point];
  if (!column.empty()) return column;
  column.reserve(points_.size());
  for (size_t i = 0; i < points_.size(); ++i) column.push_back(covariance(points_[i], points_[point], i == point));
  return column;
}

void Surrogate::learn(std::span<const Observation> observations) {
  learned_.clear();
  lower_.clear();
  weights_.clear();
  for (const Observation& seen : observations) {
    const std::vector<double>& own = column(seen.point);
    double rest = own[seen.point] + seen.variance;
    double weight = seen.value - kExpectedSlope * points_[seen.point].expected;
    for (size_t j = 0; j < learned_.size(); ++j) {  // the next row of the factor
      double element = (*learned_[j])[seen.point];
      const size_t other = row_begin(j), mine = row_begin(learned_.size());
      for (size_t k = 0; k < j; ++k) element -= lower_[mine + k] * lower_[other + k];
      element /= lower_[other + j];
      lower_.push_back(element);
      rest -= element * element;
      weight -= element * weights_[j];
    }
    const double diagonal = std::sqrt(std::max(rest, 1e-12));
    lower_.push_back(diagonal);
    weights_.push_back(weight / diagonal);
    learned_.push_back(&own);
  }
}

Posterior Surrogate::posterior(size_t point) const {
  const Point& p = points_[point];
  Posterior posterior{kExpectedSlope * p.expected, covariance(p, p, true)};
  std::vector<double> solved(learned_.size());  // L⁻¹ of the covariances with the observations
  for (size_t j = 0; j < learned_.size(); ++j) {
    double element = (*learned_[j])[point];
    const size_t row = row_begin(j);
    for (size_t k = 0; k < j; ++k) element -= lower_[row + k] * solved[k];
    solved[j] = element / lower_[row + j];
    posterior.mean += solved[j] * weights_[j];
    posterior.deviation -= solved[j] * solved[j];
  }
  posterior.deviation = std::sqrt(std::max(posterior.deviation, 0.0));
  return posterior;
}

double expected_improvement(const Posterior& posterior, double best) {
  const double ahead = posterior.mean - best;
  if (posterior.deviation <= 0) return std::max(0.0, ahead);
  const double z = ahead / posterior.deviation;
  return ahead * normal_below(z) + posterior.deviation * normal_density(z);
}

double probability_above(const Posterior& posterior, double threshold) {
  if (posterior.deviation <= 0) return posterior.mean >= threshold ? 1 : 0;
  return normal_below((posterior.mean - threshold) / posterior.deviation);
}

}  // namespace ridge::tune
