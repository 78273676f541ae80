// Search on synthetic machines: engines × variants × layouts with speed laws unknown to the search, and noise. Shows
// how near it comes to the best of all points, and how few of them it measures.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tune/test_layout.h"

#include "tune/search.h"

namespace ridge::tune {
namespace {

constexpr double kBaselineRows = 100;
constexpr double kGoalQuality = 0.97;
constexpr double kGoalShare = 0.10;
constexpr unsigned kSeeds = 20;
constexpr unsigned kFirstSeed = 500;  // those below served to choose the constants of surrogate.cc

// Speed of one variant in one engine: a run of b rows on t threads takes fixed + b · per_row · ((1 − s)/t + s), and
// instances slow each other down.
struct Law {
  double fixed_ms = 0, per_row_ms = 1;
  double serial = 0;        // Amdahl's share
  double contention = 0;    // per further busy thread of the machine
  double cliff = 0;         // rows cost this much more …
  double cliff_from = 1e9;  // … from this many rows in flight on
  double peak = 1;          // of the arithmetic, beside fp32
};

struct Landscape {
  Space space;
  std::map<std::string, double> rows_per_s;  // by text(candidate)
  double best = 0;
};

struct Kind {
  int cpus = 2;
  int64_t most_batch = 32;
  std::vector<std::string> engines, variants;
  bool limits = false;  // whether limits are known
};

double rows_per_s(const Law& law, const Candidate& c) {
  const double busy = c.threads * c.instances;
  const double rows = static_cast<double>(c.batch);
  double per_row = law.per_row_ms * ((1 - law.serial) / c.threads + law.serial);
  if (rows * c.instances >= law.cliff_from) per_row *= 1 + law.cliff;
  const double run_ms = (law.fixed_ms + rows * per_row) * (1 + law.contention * (busy - 1));
  return 1e3 * rows * c.instances / run_ms;
}

Law random_law(const std::string& variant, std::mt19937& random) {
  auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const std::map<std::string, std::pair<double, double>> speeds = {{"fp32", {1, 1}},
                                                                   {"bf16", {0.6, 2.2}},
                                                                   {"int8", {1.3, 3.6}},
                                                                   {"int8-dynamic", {0.5, 2.2}},
                                                                   {"int4-weights", {0.5, 1.5}}};
  const auto [slowest, fastest] = speeds.at(variant);
  Law law;
  law.per_row_ms = 10 / between(slowest, fastest) * std::exp(std::normal_distribution<double>(0, 0.12)(random));
  law.fixed_ms = law.per_row_ms * std::exp(between(-4, 1));
  law.serial = between(0.005, 0.15);
  law.contention = between(0, 0.04);
  law.cliff = between(0, 0.5);
  law.cliff_from = std::exp2(between(2, 8));
  law.peak = variant == "fp32" ? 1 : variant == "bf16" ? 2 : 4;
  return law;
}

std::vector<Candidate> layouts(const Kind& kind) {
  std::vector<Candidate> result;
  for (int threads = 1; threads <= kind.cpus; threads *= 2)
    for (int instances = 1; threads * instances <= kind.cpus; instances *= 2)
      for (int64_t batch = 1; batch <= kind.most_batch; batch *= 2)
        result.push_back(laid_out(threads, instances, batch));
  return result;
}

Landscape make_landscape(const Kind& kind, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Landscape landscape;
  for (const std::string& engine : kind.engines)
    for (const std::string& variant : kind.variants) {
      const Law law = random_law(variant, random);
      const double spin = 0.05 * normal(random), spin_of_instances = 0.03 * normal(random),
                   blocks = 0.03 * normal(random);
      for (Candidate candidate : layouts(kind)) {
        candidate.engine = engine;
        candidate.variant = variant;
        for (int option = 0; option < (candidate.threads > 1 && engine.empty() ? 3 : 1); ++option) {
          candidate.spin = option == 1 ? plan::Spin::kOff : plan::Spin::kDefault;
          candidate.block_base = option == 2 ? 4 : 0;
          double rows = rows_per_s(law, candidate) * std::exp(0.015 * normal(random));
          if (option == 1) rows *= std::exp(spin + spin_of_instances * std::log2(candidate.instances));
          if (option == 2) rows *= std::exp(blocks);
          PricedCandidate entry{candidate, 0, 0, 0};
          if (kind.limits) {  // arithmetic alone; a row of fp32 takes 10 ms on one thread, a third of it overhead
            entry.max_rows_per_s = 1.5 * law.peak * 100 * candidate.threads * candidate.instances;
            entry.max_rows_per_s = std::max(entry.max_rows_per_s, 1.02 * rows);
            entry.bound_ms = 1e3 * static_cast<double>(candidate.batch * candidate.instances) / entry.max_rows_per_s;
          }
          landscape.space.entries.push_back(entry);
          landscape.rows_per_s[text(candidate)] = rows;
          landscape.best = std::max(landscape.best, rows);
        }
      }
    }
  return landscape;
}

Outcome measure(const Landscape& landscape, const Probe& probe, double noise, std::mt19937& random) {
  std::normal_distribution<double> normal(0, noise);
  const double rows = landscape.rows_per_s.at(text(probe.candidate));
  const double opening = 0.3 * normal(random);  // reopened sessions are not quite as fast
  Outcome outcome;
  for (int i = 0; i < (probe.effort == Effort::kShort ? 4 : 8); ++i)
    outcome.gains.push_back(std::log(rows / kBaselineRows) + opening + normal(random));
  outcome.candidate.rows_per_s = rows;
  outcome.candidate.p50_ms = 1e3 * static_cast<double>(probe.candidate.batch * probe.candidate.instances) / rows;
  outcome.candidate.p99_ms = 1.2 * outcome.candidate.p50_ms;
  outcome.baseline.rows_per_s = kBaselineRows;
  outcome.baseline.p50_ms = 10;
  outcome.baseline.p99_ms = 12;
  outcome.candidate.samples = 20;
  return outcome;
}

struct SearchQuality {
  double quality = 0;  // rows/s of the result ÷ of the best there is
  double share = 0;    // of the measured points
  double trials = 0;   // ÷ measured points
};

SearchQuality search(const Landscape& landscape, double noise, unsigned seed) {
  std::mt19937 random(seed + 1000);
  Search search(landscape.space, Goal{});
  while (std::optional<Probe> probe = search.next(0))
    search.report(probe->candidate, measure(landscape, *probe, noise, random));
  return {landscape.rows_per_s.at(text(search.best()->candidate)) / landscape.best,
          static_cast<double>(search.measured().size()) / static_cast<double>(landscape.space.entries.size()),
          static_cast<double>(search.trials()) / static_cast<double>(search.measured().size())};
}

class SearchOn : public ::testing::TestWithParam<std::pair<const char*, Kind>> {};

TEST_P(SearchOn, ReachesNinetySevenPercentOfTheOptimumWithATenthOfThePoints) {
  const Kind& kind = GetParam().second;
  unsigned near = 0, few = 0;
  size_t points = 0;
  double worst = 1, most = 0, quality = 0, share = 0, trials = 0;
  for (unsigned seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    const Landscape landscape = make_landscape(kind, seed);
    points = landscape.space.entries.size();
    const SearchQuality figures = search(landscape, 0.04, seed);
    near += figures.quality >= kGoalQuality;
    few += figures.share <= kGoalShare;
    worst = std::min(worst, figures.quality);
    most = std::max(most, figures.share);
    quality += figures.quality / kSeeds;
    share += figures.share / kSeeds;
    trials += figures.trials / kSeeds;
  }
  SCOPED_TRACE(std::string(GetParam().first) + ", " + std::to_string(points) + " points");
  // Successes of 100 seeds: 91 at 144 points, 95 at 960, 97 at 2940; a tenth of 84 points is eight, which settle it in
  // 74.
  const bool small = points < 100;
  EXPECT_GE(near, kSeeds * (small ? 6 : 8) / 10) << "of " << kSeeds;
  EXPECT_GE(few, kSeeds * 8 / 10) << "of " << kSeeds;
  EXPECT_GE(quality, small ? 0.94 : 0.98) << "worst " << worst;
  EXPECT_LE(share, kGoalShare) << "most " << most;
  EXPECT_LE(trials, 1.5) << "the winner is measured again, not everything near it";
}

const std::vector<std::string> kAll = {"fp32", "bf16", "int8", "int8-dynamic", "int4-weights"};
INSTANTIATE_TEST_SUITE_P(
    Machines, SearchOn,
    ::testing::Values(std::pair{"two CPUs, two engines, three variants",
                                Kind{2, 32, {"", "openvino"}, {"fp32", "bf16", "int8"}, true}},
                      std::pair{"four CPUs, one variant", Kind{4, 64, {""}, {"fp32"}, false}},
                      std::pair{"eight CPUs, two engines, five variants", Kind{8, 32, {"", "openvino"}, kAll, true}},
                      std::pair{"64 CPUs, two engines, five variants", Kind{64, 32, {"", "openvino"}, kAll, false}}),
    [](const auto& parameter) { return "Number" + std::to_string(parameter.index); });

}  // namespace
}  // namespace ridge::tune
