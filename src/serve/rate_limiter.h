// RateLimiter: which instances may run now, of all models: an instance begins a batch only when the resources that its configuration names are free, and holds
// them until the batch has run (Triton's user guide, "Rate Limiter"; `instance_group { rate_limiter }`).
//
// Of instances that wait the one goes first that has run least for its priority: with priority 2 it gets half the chances of one with priority 1. Others pass one that
// waits only if they need nothing that it waits for, so a large need is not starved. Time without waiting earns no chances.
//
// Resources are there as often as the server's options say, or where they say nothing as often as the most demanding instance needs. Those of a device are counted per device;
// the CPU counts as device 0, as in Triton. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "serve/model_settings.h"

namespace ridge::serve {

struct ResourceLimit {
  std::string name;
  uint64_t count = 0;
  std::optional<int> device;  // none: of each device
};
// "NAME:COUNT" or "NAME:COUNT:DEVICE"; without a device it counts for each.
Result<ResourceLimit> parse_resource_limit(const std::string& text);

class RateLimiter : public std::enable_shared_from_this<RateLimiter> {
 public:
  // `limits`: empty = as often as needed; else what is not among them is not there.
  explicit RateLimiter(std::vector<ResourceLimit> limits) : limits_(std::move(limits)) {}

  // One instance's part. One thread, but stop().
  class Instance {
   public:
    Instance(std::shared_ptr<RateLimiter> limiter, RateLimit limit);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    // Waits for the resources.
    void acquire();
    // After a run. `again`: it stands in line for the next one at once, or those who waited meanwhile would always be next; then acquire() or give_back() follows.
    void release(bool again = false);
    // Nothing was run: leaves the line, or gives the resources back, and the turn.
    void give_back();
    // From now on acquire() does not wait.
    void stop();

   private:
    friend class RateLimiter;
    void stand_in_line() RIDGE_REQUIRES(limiter_->mutex_);
    void let_go() RIDGE_REQUIRES(limiter_->mutex_);
    const std::shared_ptr<RateLimiter> limiter_;
    const RateLimit limit_;
    // Guarded by the limiter's mutex.
    uint64_t turns_ = 0;  // runs times priority, as far as others waited
    bool holds_ = false, stopped_ = false;
    ConditionVariable changed_;
  };

  size_t waiting() const;  // instances

  // One per limit. kInvalid: it needs more than there is of a resource, or one that is global for others and of a device here.
  Result<std::vector<std::unique_ptr<Instance>>> add(std::span<const RateLimit> limits);

 private:
  using Key = std::pair<std::string, std::optional<int>>;  // resource and device; none: global
  static Key key_of(const ResourceNeed& need) { return {need.name, need.device}; }
  Status check(const RateLimit& limit) const RIDGE_REQUIRES(mutex_);
  std::optional<uint64_t> configured(const Key& key) const;
  uint64_t available(const Key& key) const RIDGE_REQUIRES(mutex_);
  bool fits(const RateLimit& limit) const RIDGE_REQUIRES(mutex_);
  void grant() RIDGE_REQUIRES(mutex_);

  const std::vector<ResourceLimit> limits_;
  mutable Mutex mutex_;
  std::vector<const Instance*> instances_ RIDGE_GUARDED_BY(mutex_);
  std::vector<Instance*> waiting_ RIDGE_GUARDED_BY(mutex_);  // in line, in the order in which they came
  std::map<Key, uint64_t> in_use_ RIDGE_GUARDED_BY(mutex_);
  uint64_t turn_ RIDGE_GUARDED_BY(mutex_) = 0;  // that of the latest grant
};

}  // namespace ridge::serve
