// FormFilters: keeps answers to their forms (response_format): tokens that may not come next are never drawn. What may
// come next is found on a thread of its own while the decoder runs, first for answers that took it the least time so
// far; the sets of recent forms are kept. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "generate/scheduler.h"
#include "text/token_mask.h"

namespace ridge::serve {

class FormFilters {
 public:
  // `longest`: until what may come next is found, else the request fails; 0: as long as text::TokenSets lets it take.
  // `ready`: called on the thread when a filter has become ready. `clock` outlives it.
  FormFilters(std::shared_ptr<const text::TokenTrie> tokens, Nanoseconds longest, Clock& clock,
              std::function<void()> ready)
      : tokens_(std::move(tokens)), longest_(longest), clock_(clock), tell_ready_(std::move(ready)) {}
  // `ends`: tokens that end an answer, at least one. Where no token can go on they are what is left. It does not
  // outlive this.
  std::shared_ptr<generate::TokenFilter> filter(const text::JsonGrammar& form, std::vector<int32_t> ends);

 private:
  class Filter;
  void ask(const std::shared_ptr<Filter>& filter);
  void work(const std::stop_token& stop);
  void find(Filter& filter, const std::function<bool()>& goes_on);
  std::shared_ptr<text::TokenSets> sets_of(const text::JsonGrammar& form);
  void make_room();

  const std::shared_ptr<const text::TokenTrie> tokens_;
  const Nanoseconds longest_;
  Clock& clock_;
  const std::function<void()> tell_ready_;
  // Used by the thread alone.
  std::list<std::shared_ptr<text::TokenSets>> recent_;  // the latest first
  std::vector<std::weak_ptr<Filter>> filters_;

  Mutex mutex_;
  StoppableConditionVariable changed_;
  std::vector<std::weak_ptr<Filter>> asked_ RIDGE_GUARDED_BY(mutex_);
  std::jthread thread_;  // from the first filter on; the last member, so that it ends first
};

}  // namespace ridge::serve
