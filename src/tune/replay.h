// Replay: a space with one measurement per point, and the quick search replayed on the record. Shows how near the
// search comes to the best of all points, and how few of them it measures, without measuring again. Pure.
#pragma once

#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/result.h"
#include "tune/search.h"

namespace ridge::tune {

struct RecordedGrid {
  Space space;
  std::vector<Outcome> outcomes;  // parallel to space.entries
};

RecordedGrid grid_of(const std::vector<Standing>& points);

struct Replay {
  size_t points = 0, measured = 0;
  double quality = 0, share = 0;
  Candidate chosen, best;
};
void visit_fields(auto& visit, Is<Replay> auto& replay) {
  visit("points", replay.points);
  visit("measured", replay.measured);
  visit("quality", replay.quality, means("objective of the search's choice ÷ of the best point"));
  visit("share", replay.share, means("measured ÷ points"));
  visit("chosen", replay.chosen);
  visit("best", replay.best);
}
// Every measurement of a candidate repeats the record, so repeats add no information.
Replay replay(const RecordedGrid& grid);

}  // namespace ridge::tune
