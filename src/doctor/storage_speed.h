// The speed of reading files in a folder: sequentially in large blocks (loading a model) and at random in small ones
// (loading weights on demand, data sets). Bypasses the page cache where the file system allows it (O_DIRECT).
//
// Writes one temporary file of a stated size and removes its name at once, so that nothing is left behind however it
// ends. Blocks as long as the disk does: call it in a child (base/child_process.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

struct StorageOptions {
  std::string folder;
  int64_t file_bytes = int64_t{256} << 20;  // less where less than twice of it is free
  Nanoseconds time_per_test = std::chrono::seconds(2);
  const Clock* clock = &system_clock();
};

struct StorageSpeed {
  std::string folder;
  int64_t file_bytes = 0;
  bool direct = false;
  std::string indirect_reason;    // why not direct: reads may come from the page cache
  double write_bytes_per_s = 0;   // one thread, blocks of 1 MiB, until synced
  double read_bytes_per_s = 0;    // likewise: the whole file, repeatedly until the time is over
  double random_reads_per_s = 0;  // blocks of 4 KiB, one after the other
  double random_read_us = 0;      // median
  double random_read_p99_us = 0;
  int64_t random_reads = 0;  // that the figures are over
};
void visit_fields(auto& visit, Is<StorageSpeed> auto& speed) {
  visit("folder", speed.folder);
  visit("file_bytes", speed.file_bytes);
  visit("direct", speed.direct);
  visit.optional("indirect_reason", speed.indirect_reason);
  visit("write_bytes_per_s", speed.write_bytes_per_s);
  visit("read_bytes_per_s", speed.read_bytes_per_s);
  visit("random_reads_per_s", speed.random_reads_per_s);
  visit("random_read_us", speed.random_read_us);
  visit("random_read_p99_us", speed.random_read_p99_us);
  visit("random_reads", speed.random_reads);
}

Result<StorageSpeed> measure_storage(const StorageOptions& options);

}  // namespace ridge::doctor
