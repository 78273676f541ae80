// The table of metrics that AMD's cards keep, as both of AMD's management libraries hand it out: own declaration of its
// layout, and what of it tells throttling.
// Sources: ROCm/rocm_smi_lib, include/rocm_smi/rocm_smi.h of ROCm 5.0 to 7.0; ROCm/amdsmi, include/amd_smi/amdsmi.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/reading.h"

namespace ridge::gpu {

// rsmi_gpu_metrics_t and amdsmi_gpu_metrics_t up to what ridge reads; a member with all bits set is not told. 5.x ends after temperature_hbm,
// 6.0 after current clocks; newer ones go on behind this, at most kMetricsBytes in all.
struct AmdMetrics {
  uint16_t structure_size;
  uint8_t format_revision, content_revision;
  uint16_t temperature_edge, temperature_hotspot, temperature_memory;
  uint16_t temperature_regulators[3];  // graphics, SoC, memory
  uint16_t activity[3];                // graphics, memory controller, multimedia
  uint16_t average_power_w;
  uint64_t energy, system_clock;
  uint16_t average_clocks_mhz[7];  // graphics, SoC, memory, video
  uint16_t graphics_clock_mhz, soc_clock_mhz, memory_clock_mhz;
  uint16_t video_clocks_mhz[4];
  uint32_t throttle_status;  // coded differently by every kind of card
  uint16_t fan_speed, pcie_lanes;
  uint16_t pcie_speed;  // [0.1 GT/s]
  uint32_t graphics_activity_sum, memory_activity_sum;
  uint16_t temperature_hbm[4];
  uint64_t firmware_time;
  uint16_t voltages[3];
  uint64_t independent_throttle_status;  // gpu/slowdown.h
  uint16_t socket_power_w, video_activity[4];
  uint32_t graphics_clock_lock;
  uint16_t xgmi_lanes, xgmi_speed;
  uint64_t pcie_sums[5];  // bandwidth, bandwidth now, recoveries, replays, replay roll-overs
  uint64_t xgmi_read[8], xgmi_written[8];
  uint16_t clocks_now_mhz[8 + 3 * 4];
  uint16_t jpeg_activity[32];
  uint32_t nak_sent, nak_received;
  // Times, in the unit of accumulations, that the clock was held down: signal of the board, power, heat of the socket,
  // of the voltage regulators, of the memory. Instead of the throttle status on MI300.
  uint64_t accumulations;
  uint64_t held_by_signal, held_by_power, held_by_socket_heat, held_by_regulator_heat, held_by_memory_heat;
};
constexpr size_t kAmdMetricsBytes = 16384;  // 1832 in ROCm 6.3

// What the library wrote into kAmdMetricsBytes whose bits were all set before.
AmdMetrics metrics_from(const std::vector<unsigned char>& buffer);

// Bits as in gpu/slowdown.h. Older cards tell the state itself, newer ones the time that each limit held the clock
// down: what grew from `before` to `now`, some milliseconds later, holds it down now. `why_not`: the library's reason
// for telling no metrics, empty if it tells them.
Reading<int64_t> slowdown_of(const AmdMetrics& before, const AmdMetrics& now, const Error& why_not);

// rsmi_dev_perf_level_t and amdsmi_dev_perf_level_t: "auto", "low", …, "unknown".
constexpr const char* kPerformanceLevels[] = {
    "auto", "low", "high", "manual", "stable_std", "stable_peak", "stable_min_mclk", "stable_min_sclk", "determinism"};
Reading<std::string> performance_level_of(const Reading<int64_t>& level);

// Lanes and generation of the PCIe link; false: not told.
bool link_of(const AmdMetrics& metrics, int64_t& lanes, int64_t& generation);

}  // namespace ridge::gpu
