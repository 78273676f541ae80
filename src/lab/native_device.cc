#include "lab/device.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "machine/probe.h"

namespace ridge::lab {
namespace {

constexpr size_t kCacheLine = 64;

struct FreeMemory {
  void operator()(float* memory) const { std::free(memory); }
};

class NativeCase : public PreparedCase {
 public:
  explicit NativeCase(const Case& work) {
    for (const std::vector<float>& content : work.buffers) {
      size_t bytes = (content.size() * sizeof(float) + kCacheLine - 1) / kCacheLine * kCacheLine;
      memory_.emplace_back(static_cast<float*>(std::aligned_alloc(kCacheLine, bytes)));
      buffers_.emplace_back(memory_.back().get(), memory_.back() ? content.size() : 0);
      if (memory_.back()) std::copy(content.begin(), content.end(), buffers_.back().begin());
    }
  }
  bool enough_memory() const {
    return std::all_of(memory_.begin(), memory_.end(), [](const auto& memory) { return memory != nullptr; });
  }

  Result<double> seconds(const Variant& variant, int repeats) override {
    assert(variant.native);
    const TimePoint begin = SteadyClock::now();
    for (int i = 0; i < repeats; ++i) {
      variant.native(buffers_);
      asm volatile("" ::: "memory");  // makes the compiler assume that the output is read
    }
    return to_seconds(SteadyClock::now() - begin);
  }
  Status put(size_t buffer, std::span<const float> content) override {
    std::copy(content.begin(), content.end(), buffers_.at(buffer).begin());
    return {};
  }
  Status get(size_t buffer, std::span<float> content) override {
    std::copy_n(buffers_.at(buffer).begin(), content.size(), content.begin());
    return {};
  }

 private:
  std::vector<std::unique_ptr<float, FreeMemory>> memory_;
  std::vector<std::span<float>> buffers_;
};

}  // namespace

Result<Device> open_native_device() {
  RIDGE_ASSIGN(const machine::Machine machine, machine::probe());
  Device device;
  device.kind = "cpu";
  device.text = machine.cpu.model + ", one thread";
  device.conditions = [cpu = machine.cpu] {
    return Json{{"device", "cpu"}, {"name", cpu.model}, {"threads", 1}, {"isa", cpu.isa}};
  };
  device.target.family = Family::kNative;
  device.target.cpus = machine::usable_threads(machine);
  for (const machine::Cache& cache : machine.cpu.caches)
    device.target.last_cache_bytes = std::max(device.target.last_cache_bytes, cache.size_bytes);
  device.prepare = [](const Case& work) -> Result<std::unique_ptr<PreparedCase>> {
    auto prepared = std::make_unique<NativeCase>(work);
    if (!prepared->enough_memory()) return Error{Code::kExhausted, work.title + ": not enough memory for its arrays"};
    return std::unique_ptr<PreparedCase>(std::move(prepared));
  };
  return device;
}

}  // namespace ridge::lab
