#include "doctor/clocks.h"

#include <fmt/format.h>
#include <sys/timex.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.h"
#include "doctor/areas.h"

namespace ridge::doctor {
namespace {

constexpr const char* kClockArea = "clock";

int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

void ask_kernel(ClockFacts& facts) {
  timex state{};
  int answer = adjtimex(&state);  // modes 0: read-only, needs no privilege
  facts.synchronisation_known = answer >= 0;
  facts.synchronised = answer >= 0 && answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  facts.largest_error_us = state.maxerror;
}

// The cost of a read with the clock sources of a CPU (tsc, arch_sys_counter), and with those of a device.
constexpr double kSlowRead_ns = 200;

Finding judge_source(const machine::Tree& tree) {
  const std::string folder = "sys/devices/system/clocksource/clocksource0/";
  Finding finding = about(kClockArea, "source", "clock source", "/" + folder + "current_clocksource");
  std::optional<std::string> current = machine::text_at(tree, folder + "current_clocksource");
  if (!current) return not_applicable(finding, machine::reason_at(tree, folder + "current_clocksource"));
  std::string available = machine::text_at(tree, folder + "available_clocksource").value_or("");
  std::string evidence = *current + " of " + available;
  if (*current == "hpet" || *current == "acpi_pm" || *current == "jiffies") {
    const bool has_tsc = available.find("tsc") != std::string::npos;
    return with_command(
        has_tsc ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource" : "",
        warn(finding, evidence,
             has_tsc ? "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the kernel log "
                       "does not call it unstable"
                     : "see the kernel log for why tsc was rejected: every time read now queries a slow device"));
  }
  return ok(finding, evidence);
}

Finding judge_network_time(const ClockFacts& facts) {
  Finding finding = about(kClockArea, "network_time", "clock set by network time", "adjtimex");
  if (!facts.synchronisation_known) return not_applicable(finding, "unknown in this container");
  // Without synchronisation the kernel's estimate of the error is a constant, 16 s (NTP_PHASE_LIMIT): no measurement.
  if (!facts.synchronised)
    return warn(finding, "not synchronised",
                "start chrony or systemd-timesyncd (on a virtual machine's host): logs and metrics of several machines "
                "will disagree otherwise");
  return ok(finding, fmt::format("synchronised, may be off by {}",
                                 format_ms(static_cast<double>(facts.largest_error_us) / 1000)));
}

Finding judge_reads(const ClockFacts& facts) {
  Finding finding = about(kClockArea, "reading", "reading the time", fmt::format("measured: {} reads", facts.reads));
  const bool moved = std::abs(facts.realtime_step_ms) >= 0.001;
  std::string evidence = fmt::format("{:.0f} ns per read, {} steps back, largest gap {}, clock of the day {}",
                                     facts.ns_per_read, facts.steps_back, format_ms(facts.largest_gap_ms),
                                     moved ? "moved by " + format_ms(facts.realtime_step_ms) : "not moved");
  if (facts.steps_back > 0)
    return fail(finding, evidence,
                "update firmware and kernel: the monotonic clock went backwards, so no measured time can be trusted");
  if (facts.ns_per_read > kSlowRead_ns)
    return warn(finding, evidence, "let the kernel use the CPU's own counter (tsc): each read now needs a system call");
  if (std::abs(facts.realtime_step_ms) > 10)
    return warn(finding, evidence, "the clock is set in steps: let chrony slew it");
  if (facts.largest_gap_ms > 20)
    return warn(
        finding, evidence,
        "this process was stopped for that long, by a quota, other work, or the host of a virtual machine; latencies "
        "will show it");
  return ok(finding, evidence);
}

}  // namespace

ClockFacts measure_clocks(Nanoseconds duration) {
  ClockFacts facts;
  ask_kernel(facts);
  constexpr int kBlock = 1000;
  std::vector<double> blocks;
  const int64_t begin = now_ns(CLOCK_MONOTONIC), real_begin = now_ns(CLOCK_REALTIME);
  int64_t before = begin;
  while (before - begin < duration.count()) {
    const int64_t block_begin = before;
    for (int i = 0; i < kBlock; ++i) {
      int64_t now = now_ns(CLOCK_MONOTONIC);
      facts.steps_back += now < before ? 1 : 0;
      facts.largest_gap_ms = std::max(facts.largest_gap_ms, static_cast<double>(now - before) / 1e6);
      before = now;
    }
    facts.reads += kBlock;
    blocks.push_back(static_cast<double>(before - block_begin) / kBlock);
  }
  const int64_t end = now_ns(CLOCK_MONOTONIC), real_end = now_ns(CLOCK_REALTIME);
  facts.realtime_step_ms = static_cast<double>((real_end - real_begin) - (end - begin)) / 1e6;
  std::nth_element(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2), blocks.end());
  facts.ns_per_read = blocks[blocks.size() / 2];
  return facts;
}

Findings judge_clock(const Facts& facts) {
  Findings findings = {judge_source(facts.tree)};
  Result<Json> json = machine::json_at(facts.tree, entry::kTime);
  Result<ClockFacts> clocks = json ? from_json<ClockFacts>(*json) : Result<ClockFacts>(json.error());
  if (!clocks) {
    findings.push_back(
        not_applicable(about(kClockArea, "reading", "reading the time", "measured"), clocks.error().message));
    return findings;
  }
  findings.push_back(judge_network_time(*clocks));
  findings.push_back(judge_reads(*clocks));
  return findings;
}

}  // namespace ridge::doctor
