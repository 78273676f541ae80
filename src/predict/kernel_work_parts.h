// Shared by the parts of kernel_work.h. Private to predict/.
#pragma once

#include <algorithm>
#include <cmath>

#include "predict/kernel_work.h"

namespace ridge::predict {

KernelWork convolution_work(const Kernel& kernel, const KernelDevice& device, double footprint_bytes);
KernelWork product_work(const Kernel& kernel, const KernelDevice& device, double footprint_bytes);
KernelWork other_work(const Kernel& kernel, const KernelDevice& device);

inline double us_of(double bytes, double bytes_per_s) { return bytes_per_s > 0 ? bytes / bytes_per_s * 1e6 : 0; }

// The share of data that misses a cache when it is traversed repeatedly.
inline double share_beyond(double bytes, double capacity) { return bytes > capacity ? 1 - capacity / bytes : 0; }

// A cache never belongs to the data alone: half-full is full for some of it. Assumed; measured curves on an AMD EPYC bend
// there.
constexpr double kUsableNear = 0.7;
constexpr double kUsableFar = 0.6;

// µs of one multiply-add of a whole vector, two of which start per cycle.
inline double slot_us(const KernelDevice& device) {
  const double lanes = static_cast<double>(std::max<int64_t>(device.block, 4));
  return 2 * lanes / device.flops_per_s * 1e6;
}

// Slots of a tile of `filters` × `outputs` accumulators per step: two per cycle, at least the four cycles of an accumulator's
// latency, and one load per operand.
inline double tile_slots(double filters, double outputs) {
  return std::max({8.0, filters * outputs, filters + outputs});
}

// Slots per step for `count` outputs in tiles of `tile`.
inline double line_slots(double filters, int64_t count, int64_t tile) {
  const int64_t rest = count % tile;
  return static_cast<double>(count / tile) * tile_slots(filters, static_cast<double>(tile)) +
         (rest > 0 ? tile_slots(filters, static_cast<double>(rest)) : 0);
}

// Multiply-adds in slots of a multiplication [m, k] · [k, n], with tiles of `rows` × 2 vectors.
double product_slots(int64_t m, int64_t n, int64_t k, int64_t block);

inline int64_t ceiling(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }

// The share of `units` of equal work done by the busiest of `threads`.
inline double busiest_share(int64_t units, int threads) {
  return units > 0 ? static_cast<double>(ceiling(units, threads)) / static_cast<double>(units) : 1;
}

inline double log_of(double value) { return std::log(std::max(value, 1.0)); }

}  // namespace ridge::predict
