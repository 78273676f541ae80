// RegionTable: the regions of shared memory registered by clients, by name; the only place where requests find them.
//
// Thread-safe. An unregistered region lives on until the last request that uses it has ended; its name is free at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "serve/region.h"
#include "serve/service.h"

namespace ridge::serve {

class RegionTable {
 public:
  using Open = std::function<Result<std::shared_ptr<Region>>(const RegionRequest&)>;
  // `open_cuda` creates regions of GPUs.
  explicit RegionTable(Open open_cuda) : open_cuda_(std::move(open_cuda)) {}

  // Same contracts as in Service.
  Status add(RegionRequest request);
  void remove(RegionKind kind, const std::string& name);
  Result<std::vector<RegionRequest>> list(RegionKind kind, const std::string& name) const;

  // Finds the regions named in the request and checks that its parts are inside: the inputs' data point there (those of
  // GPUs stay empty), and everything is held. BYTES, whose lengths must not change after the check, are copied. May
  // throw std::bad_alloc.
  Status bind(InferRequest& request) const;

 private:
  struct Entry {
    RegionRequest request;
    std::shared_ptr<Region> region;
  };
  Status find(SharedMemoryView& part) const;

  const Open open_cuda_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::serve
