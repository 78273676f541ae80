#include "telemetry/host.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>

#include "base/file.h"

namespace ridge::telemetry {
namespace {

// Takes the next number off `text`, after any separator.
std::optional<uint64_t> next_number(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_of("0123456789")));
  uint64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// The value of a line "KEY:   123 kB" [bytes].
std::optional<uint64_t> memory_line(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  std::optional<uint64_t> kilobytes = next_number(text);
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view proc_stat) {
  // cpu  user nice system idle iowait irq softirq steal …
  if (!proc_stat.starts_with("cpu ")) return std::nullopt;
  std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  std::array<uint64_t, 8> fields{};
  for (uint64_t& field : fields) {
    std::optional<uint64_t> number = next_number(line);
    if (!number) return std::nullopt;
    field = *number;
  }
  CpuTimes times;
  for (uint64_t field : fields) times.total += field;
  times.busy = times.total - fields[3] - fields[4];
  return times;
}

std::optional<Memory> parse_memory(std::string_view proc_meminfo) {
  std::optional<uint64_t> total = memory_line(proc_meminfo, "MemTotal:");
  std::optional<uint64_t> available = memory_line(proc_meminfo, "MemAvailable:");
  if (!total || !available) return std::nullopt;
  return Memory{*total, *available};
}

std::optional<uint64_t> parse_resident_pages(std::string_view proc_self_statm) {
  if (!next_number(proc_self_statm)) return std::nullopt;  // the size of the address space
  return next_number(proc_self_statm);
}

double utilization(const CpuTimes& before, const CpuTimes& now) {
  if (now.total <= before.total || now.busy < before.busy) return 0;
  return static_cast<double>(now.busy - before.busy) / static_cast<double>(now.total - before.total);
}

std::vector<MetricFamily> host_families(const HostSample& host) {
  std::vector<MetricFamily> families;
  auto add = [&](const char* name, const char* help, double value) {
    families.push_back({name, help, MetricType::kGauge, {Series{{}, value}}});
  };
  if (host.cpu_utilization)
    add("nv_cpu_utilization", "Share of all CPUs' time that was busy since the last scrape, 0 to 1",
        *host.cpu_utilization);
  if (host.memory) {
    add("nv_cpu_memory_total_bytes", "Memory of the machine, bytes", static_cast<double>(host.memory->total_bytes));
    add("nv_cpu_memory_used_bytes", "Memory of the machine that is in use, bytes",
        static_cast<double>(host.memory->total_bytes - host.memory->available_bytes));
  }
  if (host.resident_bytes)
    add("process_resident_memory_bytes", "Memory of this process, bytes", static_cast<double>(*host.resident_bytes));
  if (host.started_s > 0)
    add("process_start_time_seconds", "When this process began, seconds since 1970", host.started_s);
  return families;
}

HostSampler::HostSampler()
    : started_s_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()) {
  sample();
}

HostSample HostSampler::sample() {
  HostSample result;
  result.started_s = started_s_;
  if (Result<std::string> text = read_file("/proc/stat"); text) {
    if (std::optional<CpuTimes> now = parse_cpu_times(*text)) {
      MutexLock lock(mutex_);
      result.cpu_utilization = utilization(before_, *now);
      before_ = *now;
    }
  }
  if (Result<std::string> text = read_file("/proc/meminfo"); text) result.memory = parse_memory(*text);
  if (Result<std::string> text = read_file("/proc/self/statm"); text)
    if (std::optional<uint64_t> pages = parse_resident_pages(*text))
      result.resident_bytes = *pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return result;
}

}  // namespace ridge::telemetry
