#include "machine/amd_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "gpu/slowdown.h"

namespace ridge::machine {
namespace {

// Offsets in a revision of the table; 0: absent. Energy in units of 2^-16 J; earlier revisions use a unit that differs
// from GPU to GPU. From `accumulations` on: the number of checks of the limits, then the number of times that each of
// kHolds held the clock down.
struct Layout {
  uint8_t format, content;
  size_t energy, throttle_status, accumulations;
};
constexpr Layout kLayouts[] = {
    {1, 3, 0, 112, 0}, {1, 4, 24, 0, 0}, {1, 5, 88, 0, 0}, {1, 6, 16, 0, 32}, {1, 7, 24, 0, 40}, {1, 8, 24, 0, 40},
};
constexpr double kMillijoulesPerUnit = 1000.0 / 65536;

// prochot, ppt, socket_thm, vr_thm and hbm_thm residency, each 32 bits.
constexpr uint64_t kHolds[] = {gpu::kHotSignal, gpu::kPowerLimit, gpu::kHeat, gpu::kRegulatorHeat, gpu::kMemoryHeat};

std::vector<uint8_t> bytes_of(std::string_view digits) {
  std::vector<uint8_t> bytes;
  auto value = [](char digit) { return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10; };
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(value(digits[i]) << 4 | value(digits[i + 1])));
  return bytes;
}

// Little-endian; all bits set: not reported.
template <typename T>
std::optional<T> at(const std::vector<uint8_t>& table, size_t offset) {
  if (offset == 0 || offset + sizeof(T) > table.size()) return std::nullopt;
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | table[offset + i]);
  if (value == static_cast<T>(~T{0})) return std::nullopt;
  return value;
}

std::optional<int64_t> held_between(const Layout& layout, const std::vector<uint8_t>& before,
                                    const std::vector<uint8_t>& after) {
  if (layout.accumulations == 0) return std::nullopt;
  if (at<uint32_t>(before, layout.accumulations) == at<uint32_t>(after, layout.accumulations)) return std::nullopt;
  uint64_t bits = 0;
  size_t offset = layout.accumulations;
  for (uint64_t bit : kHolds) {
    offset += sizeof(uint32_t);
    if (at<uint32_t>(after, offset).value_or(0) > at<uint32_t>(before, offset).value_or(~uint32_t{0})) bits |= bit;
  }
  return static_cast<int64_t>(bits);
}

}  // namespace

AmdMetrics amd_metrics(std::string_view before, std::string_view after) {
  const std::vector<uint8_t> first = bytes_of(before), second = bytes_of(after);
  AmdMetrics metrics;
  const int format = second.size() < 4 ? 0 : second[2], content = second.size() < 4 ? 0 : second[3];
  metrics.energy_mj = metrics.slowdown_bits = Error{
      Code::kUnsupported, fmt::format("amdgpu's table of metrics, version {}.{}, does not report it", format, content)};
  for (const Layout& layout : kLayouts) {
    if (layout.format != format || layout.content != content) continue;
    if (auto energy = at<uint64_t>(second, layout.energy))
      metrics.energy_mj = static_cast<int64_t>(std::llround(static_cast<double>(*energy) * kMillijoulesPerUnit));
    if (auto status = at<uint64_t>(second, layout.throttle_status))
      metrics.slowdown_bits = static_cast<int64_t>(gpu::slowdown_of_amd(*status));
    else if (auto held = held_between(layout, first, second))
      metrics.slowdown_bits = *held;
  }
  return metrics;
}

}  // namespace ridge::machine
