#include "serve/service_times.h"

#include <algorithm>
#include <iterator>

namespace ridge::serve {
namespace {

// After this time of other batches, or as much as twenty of them take.
constexpr Nanoseconds kForget = std::chrono::seconds(2);
constexpr int kForgetBatches = 20;
constexpr int kVaries = 4;  // times the least: more than noise

}  // namespace

void ServiceTimes::record(int64_t rows, Nanoseconds time, TimePoint now) {
  Size& size = sizes_[rows];
  size.times[size.recorded++ % kWindow] = time;
  size.last = now;
  std::array<Nanoseconds, kWindow> sorted = size.times;
  const size_t count = std::min(size.recorded, kWindow);
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  size.usual = sorted[(count * 3 + 3) / 4 - 1];
  size.high = sorted[count < kWindow ? count - 1 : count - 2];
  size.expected = sorted[0] * kVaries < size.high ? sorted[0] : size.high;
  const Nanoseconds forget = std::max(kForget, kForgetBatches * time);
  std::erase_if(sizes_, [&](const auto& entry) { return now - entry.second.last > forget; });
}

Nanoseconds ServiceTimes::at(int64_t rows, Nanoseconds Size::*quantile) const {
  if (sizes_.empty()) return {};
  const auto above = sizes_.lower_bound(rows);
  if (above == sizes_.end()) return std::prev(above)->second.*quantile;
  const int64_t above_ns = (above->second.*quantile).count();
  if (above->first == rows || above == sizes_.begin()) return Nanoseconds(above_ns);
  const auto& [below_rows, below] = *std::prev(above);
  const int64_t below_ns = (below.*quantile).count();
  const double part = static_cast<double>(rows - below_rows) / static_cast<double>(above->first - below_rows);
  return Nanoseconds(below_ns + static_cast<int64_t>(part * static_cast<double>(above_ns - below_ns)));
}

}  // namespace ridge::serve
