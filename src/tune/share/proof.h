// Proof: the final measurement of a partition alone: every model at its load while the others are at theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/figure.h"
#include "base/result.h"
#include "tune/interleaved_benchmark.h"
#include "tune/share/co_located_model.h"
#include "tune/share/partitions.h"

namespace ridge::tune::share {

// One model's results at its load while the others were at theirs.
struct AtLoad {
  double asked_per_s = 0, done_per_s = 0;
  double request_p99_ms = 0;
  int64_t runs = 0;
  measure::Interval request_p99_ci95_ms = {};
};
void visit_fields(auto& visit, Is<AtLoad> auto& seen) {
  visit("asked_per_s", seen.asked_per_s, means("rows, with random arrivals"));
  visit("done_per_s", seen.done_per_s, means("rows"));
  visit("request_p99_ms", seen.request_p99_ms,
        means("from the intended start; where rows are merged, with the first one's wait for the others (derived)"));
  visit.optional("request_p99_ci95_ms", seen.request_p99_ci95_ms);
  visit("runs", seen.runs);
  visit.derived("origin", Origin::kMeasured);
}

struct Proof {
  int64_t resident_bytes = 0;                  // of this process, after all of it
  std::vector<std::optional<AtLoad>> at_load;  // per member; absent without a load
};
// All other sessions are closed first. Models without a load are kept busy. At least a second, and as long as the
// rarest load needs for 200 runs, but at most `options.seconds` / 4; a load below ten runs in that time is raised to
// ten.
Result<Proof> prove(std::span<const BenchmarkedModel> models, std::span<const CoLocatedModel> members,
                    const Partition& partition, const BenchmarkOptions& options, Clock& clock = system_clock());
// Why it does not confirm the goals: less than four fifths of a load is done (random arrivals alone make a few per
// cent), or a request's p99 is above its goal; empty = it does.
std::string refuted(const Proof& proof, std::span<const CoLocatedModel> members);

}  // namespace ridge::tune::share
