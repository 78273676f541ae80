#include "serve/form_filter.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace ridge::serve {
namespace {

constexpr size_t kMostRecent = 8;                 // forms whose sets are kept without an answer under way
constexpr size_t kMostBytes = size_t{128} << 20;  // of all states and sets

}  // namespace

class FormFilters::Filter final : public generate::TokenFilter, public std::enable_shared_from_this<Filter> {
 public:
  Filter(FormFilters& filters, text::JsonGrammar form, std::vector<int32_t> ends)
      : filters_(filters), form_(std::move(form)), ends_(std::move(ends)) {}

  bool ready() override {
    MutexLock lock(filters_.mutex_);
    return ready_;
  }
  std::optional<Error> failure() override { return failure_; }
  void mask(std::span<float> logits) override {
    if (mask_->mask(logits)) return;
    for (const int32_t end : ends_)
      if (static_cast<size_t>(end) < logits.size()) logits[end] = 0;
  }
  void accept(int32_t token) override {
    {
      MutexLock lock(filters_.mutex_);
      ready_ = false;
    }
    last_ = token;
    filters_.ask(shared_from_this());
  }

 private:
  friend class FormFilters;
  FormFilters& filters_;
  const text::JsonGrammar form_;
  const std::vector<int32_t> ends_;
  // Belongs to the thread until it is ready, then to the scheduler.
  std::optional<text::TokenMask> mask_;
  std::optional<int32_t> last_;  // a token to accept first
  std::optional<Error> failure_;
  Nanoseconds spent_{};
  bool ready_ = false;  // guarded by the filters' mutex
};

std::shared_ptr<generate::TokenFilter> FormFilters::filter(const text::JsonGrammar& form, std::vector<int32_t> ends) {
  auto filter = std::make_shared<Filter>(*this, form, std::move(ends));
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  ask(filter);
  return filter;
}

void FormFilters::ask(const std::shared_ptr<Filter>& filter) {
  {
    MutexLock lock(mutex_);
    asked_.push_back(filter);
  }
  changed_.notify_one();
}

void FormFilters::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::shared_ptr<Filter> filter;
    {
      MutexLock lock(mutex_);
      while (asked_.empty() && !stop.stop_requested()) changed_.wait(lock, stop);
      std::erase_if(asked_, [](const std::weak_ptr<Filter>& asked) { return asked.expired(); });
      auto best = asked_.end();
      for (auto at = asked_.begin(); at != asked_.end(); ++at) {
        std::shared_ptr<Filter> other = at->lock();
        if (!other || (filter && other->spent_ >= filter->spent_)) continue;
        filter = std::move(other);
        best = at;
      }
      if (filter) asked_.erase(best);
    }
    if (!filter) continue;
    const TimePoint begin = clock_.now();
    // Until the server ends, the answer is not wanted any more (nothing else has the filter), or time is up.
    const auto goes_on = [&] {
      return !stop.stop_requested() && filter.use_count() > 1 &&
             (longest_.count() == 0 || clock_.now() - begin < longest_);
    };
    find(*filter, std::ref(goes_on));  // which needs no memory
    filter->spent_ += clock_.now() - begin;
    {
      MutexLock lock(mutex_);
      filter->ready_ = true;
    }
    tell_ready_();
  }
}

void FormFilters::find(Filter& filter, const std::function<bool()>& goes_on) try {
  if (!filter.mask_) {
    filter.mask_.emplace(sets_of(filter.form_), filter.ends_);
    std::erase_if(filters_, [](const std::weak_ptr<Filter>& other) { return other.expired(); });
    filters_.push_back(filter.weak_from_this());
  }
  if (filter.last_) filter.mask_->accept(*std::exchange(filter.last_, std::nullopt));
  if (Status found = filter.mask_->find(goes_on); !found) filter.failure_ = invalid(found.error().message);
  make_room();
} catch (const std::bad_alloc&) {
  filter.failure_ = Error{Code::kUnavailable, "out of memory"};  // short enough to need none itself
}

std::shared_ptr<text::TokenSets> FormFilters::sets_of(const text::JsonGrammar& form) {
  auto known = std::ranges::find_if(
      recent_, [&](const auto& sets) { return sets->states()->program()->source == form.program()->source; });
  if (known == recent_.end()) {
    if (recent_.size() == kMostRecent) recent_.pop_back();
    known = recent_.insert(recent_.end(), std::make_shared<text::TokenSets>(form, tokens_));
  }
  recent_.splice(recent_.begin(), recent_, known);
  return recent_.front();
}

// Sets that are needed again are found again.
void FormFilters::make_room() {
  size_t bytes = 0;
  std::vector<std::shared_ptr<Filter>> filters;
  for (const std::weak_ptr<Filter>& other : filters_)
    if (std::shared_ptr<Filter> filter = other.lock(); filter && filter->mask_) filters.push_back(std::move(filter));
  std::vector<text::TokenSets*> all;
  for (const auto& sets : recent_) all.push_back(sets.get());
  for (const auto& filter : filters) all.push_back(&filter->mask_->sets());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const text::TokenSets* sets : all) bytes += sets->bytes();
  if (bytes <= kMostBytes) return;
  for (text::TokenSets* sets : all) sets->clear();
  for (const auto& filter : filters) filter->mask_->settle();
}

}  // namespace ridge::serve
