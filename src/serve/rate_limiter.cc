#include "serve/rate_limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/read_number.h"

namespace ridge::serve {
namespace {

std::string place_text(std::optional<int> device) {
  return device ? fmt::format("of device {}", *device) : std::string("global");
}

}  // namespace

Result<ResourceLimit> parse_resource_limit(const std::string& text) {
  const Error wrong = invalid(fmt::format("--rate-limit-resource {}: expected NAME:COUNT or NAME:COUNT:DEVICE", text));
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(':', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  ResourceLimit limit;
  int device = 0;
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) return wrong;
  if (!read_number(parts[1], limit.count)) return wrong;
  if (parts.size() == 3 && (!read_number(parts[2], device) || device < 0)) return wrong;
  limit.name = parts[0];
  if (parts.size() == 3) limit.device = device;
  return limit;
}

RateLimiter::Instance::Instance(std::shared_ptr<RateLimiter> limiter, RateLimit limit)
    : limiter_(std::move(limiter)), limit_(std::move(limit)) {
  MutexLock lock(limiter_->mutex_);
  limiter_->instances_.push_back(this);
}

RateLimiter::Instance::~Instance() {
  give_back();
  MutexLock lock(limiter_->mutex_);
  std::erase(limiter_->instances_, this);
}

void RateLimiter::Instance::stand_in_line() {
  turns_ = std::max(turns_, limiter_->turn_);
  limiter_->waiting_.push_back(this);
}

void RateLimiter::Instance::let_go() {
  holds_ = false;
  for (const ResourceNeed& need : limit_.resources) limiter_->in_use_[key_of(need)] -= need.count;
}

void RateLimiter::Instance::acquire() {
  MutexLock lock(limiter_->mutex_);
  const auto& line = limiter_->waiting_;
  if (!holds_ && std::find(line.begin(), line.end(), this) == line.end()) {
    stand_in_line();
    limiter_->grant();
  }
  while (!holds_ && !stopped_) changed_.wait(lock);
}

void RateLimiter::Instance::release(bool again) {
  MutexLock lock(limiter_->mutex_);
  if (!holds_) return;
  let_go();
  if (again) stand_in_line();
  limiter_->grant();
}

void RateLimiter::Instance::give_back() {
  MutexLock lock(limiter_->mutex_);
  if (holds_) {
    let_go();
    turns_ -= limit_.priority;
  }
  std::erase(limiter_->waiting_, this);
  limiter_->grant();
}

void RateLimiter::Instance::stop() {
  MutexLock lock(limiter_->mutex_);
  stopped_ = true;
  changed_.notify_all();
}

size_t RateLimiter::waiting() const {
  MutexLock lock(mutex_);
  return waiting_.size();
}

// What the options say of a resource; for a global one the device does not count.
std::optional<uint64_t> RateLimiter::configured(const Key& key) const {
  if (limits_.empty()) return std::nullopt;
  uint64_t count = 0;
  for (const ResourceLimit& limit : limits_)
    if (limit.name == key.first && (!key.second || !limit.device || *limit.device == *key.second))
      count = std::max(count, limit.count);
  return count;
}

uint64_t RateLimiter::available(const Key& key) const {
  if (const auto count = configured(key)) return *count;
  uint64_t most = 0;
  for (const Instance* instance : instances_)
    for (const ResourceNeed& need : instance->limit_.resources)
      if (key_of(need) == key) most = std::max<uint64_t>(most, need.count);
  return most;
}

Status RateLimiter::check(const RateLimit& limit) const {
  for (const ResourceNeed& need : limit.resources) {
    const auto count = configured(key_of(need));
    if (count && *count < need.count)
      return invalid(fmt::format(
          "an instance needs {} of resource '{}' ({}), and --rate-limit-resource gives {}; it would never run",
          need.count, need.name, place_text(need.device), *count));
    for (const Instance* other : instances_)
      for (const ResourceNeed& theirs : other->limit_.resources)
        if (theirs.name == need.name && theirs.device.has_value() != need.device.has_value())
          return invalid(fmt::format("resource '{}' is {} here, and {} in another model; make them equal", need.name,
                                     place_text(need.device), place_text(theirs.device)));
  }
  return {};
}

Result<std::vector<std::unique_ptr<RateLimiter::Instance>>> RateLimiter::add(std::span<const RateLimit> limits) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (const RateLimit& limit : limits) {
    {
      MutexLock lock(mutex_);
      RIDGE_TRY(check(limit));
    }
    instances.push_back(std::make_unique<Instance>(shared_from_this(), limit));
  }
  return instances;
}

bool RateLimiter::fits(const RateLimit& limit) const {
  for (const ResourceNeed& need : limit.resources) {
    const auto used = in_use_.find(key_of(need));
    if (need.count + (used == in_use_.end() ? 0 : used->second) > available(key_of(need))) return false;
  }
  return true;
}

void RateLimiter::grant() {
  std::vector<Instance*> in_turn = waiting_;
  std::stable_sort(in_turn.begin(), in_turn.end(),
                   [](const Instance* a, const Instance* b) { return a->turns_ < b->turns_; });
  std::set<Key> awaited;  // by those before
  for (Instance* instance : in_turn) {
    const RateLimit& limit = instance->limit_;
    const bool passes = std::none_of(limit.resources.begin(), limit.resources.end(),
                                     [&](const ResourceNeed& need) { return awaited.contains(key_of(need)); });
    if (!passes || !fits(limit)) {
      for (const ResourceNeed& need : limit.resources) awaited.insert(key_of(need));
      continue;
    }
    std::erase(waiting_, instance);
    instance->holds_ = true;
    turn_ = std::max(turn_, instance->turns_);
    instance->turns_ += limit.priority;
    for (const ResourceNeed& need : limit.resources) in_use_[key_of(need)] += need.count;
    instance->changed_.notify_all();
  }
}

}  // namespace ridge::serve
