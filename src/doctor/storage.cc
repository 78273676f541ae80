// Storage: the measurement in the folder given by --path.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "doctor/areas.h"
#include "doctor/storage_speed.h"

namespace ridge::doctor {
namespace {

constexpr const char* kStorageArea = "storage";

std::string how(const StorageSpeed& speed) {
  std::string size = format_bytes(static_cast<double>(speed.file_bytes));
  if (speed.direct) return fmt::format("temporary file of {}, bypassing the page cache", size);
  return fmt::format("temporary file of {}; {}, so reads may come from the page cache", size, speed.indirect_reason);
}

Finding judge_sequential(const StorageSpeed& speed) {
  Finding finding =
      about(kStorageArea, "sequential", "reading large files", "measured: 1 MiB blocks, one after the other");
  std::string evidence =
      fmt::format("{}: {} read, {} written ({})", speed.folder, format_bandwidth(speed.read_bytes_per_s),
                  format_bandwidth(speed.write_bytes_per_s), how(speed));
  constexpr double kSlow = 200e6;  // a model of 1 GB then takes more than 5 s to load; a hard disk or a network share
  if (speed.read_bytes_per_s < kSlow)
    return warn(finding, evidence,
                "keep models on a local solid-state disk: loading a model of 1 GB takes " +
                    format_ms(1e3 * 1e9 / speed.read_bytes_per_s) + " here");
  return ok(finding, evidence);
}

Finding judge_random(const StorageSpeed& speed) {
  Finding finding = about(kStorageArea, "random", "reading at random", "measured: 4 KiB blocks, one at a time");
  std::string evidence =
      fmt::format("{:.0f} reads/s, median {}, p99 {} over {} reads", speed.random_reads_per_s,
                  format_ms(speed.random_read_us / 1e3), format_ms(speed.random_read_p99_us / 1e3), speed.random_reads);
  constexpr double kSlow_us = 2000;  // a hard disk needs 5 to 10 ms, a solid-state one 0.1 ms
  if (speed.random_read_us > kSlow_us)
    return warn(finding, evidence, "keep data sets and memory-mapped weights on a local solid-state disk");
  return ok(finding, evidence);
}

}  // namespace

Findings judge_storage(const Facts& facts) {
  Finding whole = about(kStorageArea, "speed", "reading files", "measured");
  Result<Json> json = machine::json_at(facts.tree, entry::kStorage);
  if (!json) {
    std::string reason = machine::reason_at(facts.tree, entry::kStorage);
    if (!facts.tree.missing.contains(entry::kStorage))
      return {not_applicable(whole, "not measured: name a folder with --path DIR")};
    return {fail(whole, reason, "choose a readable and writable folder, or check the disk")};
  }
  Result<StorageSpeed> speed = from_json<StorageSpeed>(*json);
  if (!speed) return {not_applicable(whole, speed.error().message)};
  return {judge_sequential(*speed), judge_random(*speed)};
}

}  // namespace ridge::doctor
