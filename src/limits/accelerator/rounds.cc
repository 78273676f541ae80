#include "limits/accelerator/rounds.h"

#include "base/clock.h"
#include "limits/rates.h"

namespace ridge::limits::accelerator {
namespace {

class Rounds {
 public:
  Rounds(std::vector<NamedQuestion> questions, const Options& options)
      : questions_(std::move(questions)), options_(options), rule_(options.least_rounds, options.most_seconds) {}
  void run() {
    while (rule_.another(used()) && !stopped()) {
      rule_.round_done(ask_all());
      if (rule_.trial_over())
        for (auto& [name, question] : questions_) drop_hopeless(*question);
    }
  }

 private:
  double used() const { return to_seconds(SteadyClock::now() - begin_); }
  bool stopped() const { return options_.interrupted && options_.interrupted(); }
  // True if an answer is clearly better than before.
  bool ask_all() {
    bool grew = false;
    for (size_t i = 0; i < questions_.size() && !stopped(); ++i) {
      auto& [name, question] = questions_[i];
      const double share = static_cast<double>(i) / static_cast<double>(questions_.size());
      if (options_.progress) options_.progress(name, rule_.share_done(used(), share));
      const Candidate* before = question->winner();
      const double rate = before ? question->best_rate(*before) : 0;
      visit_all(*question);
      const Candidate* after = question->winner();
      grew |= after && question->best_rate(*after) > rate * kStillGrowing;
    }
    return grew;
  }

  std::vector<NamedQuestion> questions_;
  const Options& options_;
  RoundRule rule_;
  TimePoint begin_ = SteadyClock::now();
};

}  // namespace

void ask_in_rounds(std::vector<NamedQuestion> questions, const Options& options) {
  Rounds(std::move(questions), options).run();
}

}  // namespace ridge::limits::accelerator
