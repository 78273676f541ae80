// For tests: a device of this machine (pocl) that says it is small, so that everything runs at once and in little memory.
#pragma once

#include <memory>
#include <utility>

#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

class SmallDevice : public Accelerator {
 public:
  SmallDevice(std::unique_ptr<Accelerator> device, int64_t memory_bytes, int64_t cache_bytes)
      : device_(std::move(device)), facts_(device_->facts()) {
    facts_.memory_bytes = memory_bytes;
    facts_.last_cache_bytes = cache_bytes;
  }
  const Facts& facts() const override { return facts_; }
  Result<std::unique_ptr<DeviceContext>> prepare(const std::string& source) override {
    return device_->prepare(source);
  }
  Result<std::unique_ptr<Link>> link(size_t bytes) override { return device_->link(bytes); }
  Result<std::vector<Starting>> startings() override { return device_->startings(); }
  Result<std::unique_ptr<Products>> products() override { return device_->products(); }

 private:
  std::unique_ptr<Accelerator> device_;
  Facts facts_;
};

// 8 MiB buffers, 64 KiB of "cache".
inline Result<std::unique_ptr<Accelerator>> small_opencl_device() {
  RIDGE_ASSIGN(auto device, open_accelerator("opencl:0"));
  return std::unique_ptr<Accelerator>(std::make_unique<SmallDevice>(std::move(device), 64 << 20, 128 << 10));
}

}  // namespace ridge::limits::accelerator
