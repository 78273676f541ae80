// Counts what a language model does, for TextFigures. Thread-safe; one short lock per call.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/text_figures.h"

namespace ridge::serve {

// Times of one choice. Zero: it did not get there.
struct ChoiceTimes {
  TimePoint arrived{}, started{}, first_token{}, last_token{};
};

struct EndedStep {
  int64_t tokens = 0;       // new
  Nanoseconds predicted{};  // by the scheduler's line
  double bound_s = 0;       // 0: not known
  bool decode = false;      // tokens of answers only
};

class TextStatistics {
 public:
  TextStatistics();

  void refuse();
  void begin_step(TimePoint now);
  void end_step(TimePoint now, const EndedStep& step);
  void note(const generate::Figures& scheduler, const generate::StepLine& line);
  // A token after the first.
  void add_token(Nanoseconds since_the_last);
  // `cause`: the counter of TextEnds. Times are counted of choices that gave a token.
  void end(uint64_t TextEnds::*cause, const ChoiceTimes& times, int64_t prompt_tokens, int64_t tokens, TimePoint now);

  // Sum over the steps.
  uint64_t bound_ns() const;
  // Everything but name, version, tags and whether the bound is known.
  TextFigures snapshot(TimePoint now) const;

 private:
  mutable Mutex mutex_;
  TextFigures figures_ RIDGE_GUARDED_BY(mutex_);  // its histograms are not cumulative here
  TimePoint step_began_ RIDGE_GUARDED_BY(mutex_){};
};

}  // namespace ridge::serve
