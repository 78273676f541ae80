#include "lab/native_device.h"

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

class NativePlace : public Place {
 public:
  explicit NativePlace(const Case& work) {
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
      asm volatile("" ::: "memory");  // what the variant wrote is looked at, as far as the compiler knows
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

class NativeDevice : public Device {
 public:
  explicit NativeDevice(machine::Machine machine)
      : machine_(std::move(machine)), text_(machine_.cpu.model + ", one thread") {}
  std::string_view kind() const override { return "cpu"; }
  const std::string& text() const override { return text_; }
  Json conditions() const override {
    return Json{{"device", "cpu"}, {"name", machine_.cpu.model}, {"threads", 1}, {"isa", machine_.cpu.isa}};
  }
  Target target() const override {
    Target target;
    target.family = Family::kNative;
    target.cpus = machine::usable_threads(machine_);
    for (const machine::Cache& cache : machine_.cpu.caches)
      target.last_cache_bytes = std::max(target.last_cache_bytes, cache.size_bytes);
    return target;
  }
  Result<std::unique_ptr<Place>> prepare(const Case& work) override {
    auto place = std::make_unique<NativePlace>(work);
    if (!place->enough_memory()) return Error{Code::kExhausted, work.title + ": not enough memory for its arrays"};
    return std::unique_ptr<Place>(std::move(place));
  }

 private:
  machine::Machine machine_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_native_device() {
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  return std::unique_ptr<Device>(std::make_unique<NativeDevice>(std::move(machine)));
}

}  // namespace ridge::lab
