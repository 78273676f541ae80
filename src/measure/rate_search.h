// Finds the highest rate of an open loop that meets a goal: doubles it until one visit does not, bisects between, then
// visits the answer once more, since one good visit may have been luck.
//
// Pure: takes rates and verdicts, reads no clock. One thread.
#pragma once

#include <optional>

namespace ridge::measure {

struct RateSearchOptions {
  double first_per_s = 1;    // > 0
  double resolution = 0.05;  // ends when the lowest rate that failed is at most this share above the highest that met
  int most_visits = 16;      // the confirming ones included
  double least_per_s = 0;    // below it nothing is searched: then no rate meets the goal
};

class RateSearch {
 public:
  explicit RateSearch(RateSearchOptions options) : options_(options) {}

  // The rate to visit next; none: the search is over.
  std::optional<double> next() const;
  // Reports the visit to next().
  void report(bool met);

  // The highest rate that met the goal; none: none did.
  std::optional<double> highest() const { return met_; }
  // The lowest rate above it that did not; none: no limit was found.
  std::optional<double> lowest_failed() const { return failed_; }
  bool confirmed() const { return confirmed_; }  // highest() met the goal twice, and the next rate above it did not
  int visits() const { return visits_; }

 private:
  bool narrow() const { return met_ && failed_ && *failed_ <= *met_ * (1 + options_.resolution); }

  RateSearchOptions options_;
  std::optional<double> met_, failed_;
  std::optional<double> lower_;  // that met the goal before met_
  double retreat_ = 0.5;         // factor of the next rate while none has met the goal
  bool confirmed_ = false;
  int visits_ = 0;
};

}  // namespace ridge::measure
