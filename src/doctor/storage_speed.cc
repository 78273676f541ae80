#include "doctor/storage_speed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/descriptor.h"
#include "base/tensor.h"

namespace ridge::doctor {
namespace {

constexpr int64_t kLargeBlock = 1 << 20;
constexpr int64_t kSmallBlock = 4 << 10;
constexpr size_t kAlignment = 4096;  // O_DIRECT's requirement on addresses, sizes and offsets on any disk

Error system_error(const std::string& doing, const std::string& path) {
  Code code = errno == EACCES || errno == EROFS || errno == ENOENT || errno == ENOTDIR ? Code::kInvalid : Code::kFailed;
  return {code, doing + " " + path + ": " + std::strerror(errno)};
}

// A block for O_DIRECT; random bytes, so that a compressing disk gains nothing.
class Block {
 public:
  Block() : memory_(static_cast<size_t>(kLargeBlock) + kAlignment) {
    auto address = reinterpret_cast<uintptr_t>(memory_.data());
    data_ = memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
    std::mt19937_64 random(1);
    for (int64_t i = 0; i < kLargeBlock; i += 8) {
      uint64_t value = random();
      std::memcpy(data_ + i, &value, sizeof value);
    }
  }
  std::byte* data() { return data_; }

 private:
  Buffer memory_;
  std::byte* data_;
};

Result<int64_t> size_that_fits(const StorageOptions& options) {
  struct statvfs info {};
  if (statvfs(options.folder.c_str(), &info) != 0) return system_error("measure storage of", options.folder);
  int64_t free = static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  int64_t size = std::min(options.file_bytes, free / 2) / kLargeBlock * kLargeBlock;
  if (size < 4 * kLargeBlock)
    return Error{Code::kExhausted,
                 fmt::format("measure storage of {}: {} MiB are free, 8 are needed", options.folder, free >> 20)};
  return size;
}

Result<double> write_file(int file, int64_t size, Block& block, Nanoseconds limit, const Clock& clock,
                          int64_t& written) {
  TimePoint begin = clock.now();
  for (written = 0; written < size && clock.now() - begin < 3 * limit; written += kLargeBlock)
    if (pwrite(file, block.data(), static_cast<size_t>(kLargeBlock), written) != kLargeBlock)
      return Error{Code::kFailed, std::string("write the temporary file: ") + std::strerror(errno)};
  if (fsync(file) != 0)
    return Error{Code::kFailed, std::string("write the temporary file: fsync: ") + std::strerror(errno)};
  return static_cast<double>(written) / to_seconds(clock.now() - begin);
}

Result<double> read_sequentially(int file, int64_t size, Block& block, Nanoseconds limit, const Clock& clock) {
  TimePoint begin = clock.now();
  int64_t total = 0;
  do {
    for (int64_t at = 0; at < size && clock.now() - begin < limit; at += kLargeBlock, total += kLargeBlock)
      if (pread(file, block.data(), static_cast<size_t>(kLargeBlock), at) != kLargeBlock)
        return Error{Code::kFailed, std::string("read the temporary file: ") + std::strerror(errno)};
  } while (clock.now() - begin < limit);
  return static_cast<double>(total) / to_seconds(clock.now() - begin);
}

Result<std::vector<double>> read_at_random(int file, int64_t size, Block& block, Nanoseconds limit,
                                           const Clock& clock) {
  std::mt19937_64 random(2);
  std::vector<double> times_us;
  TimePoint begin = clock.now(), before = begin;
  while (before - begin < limit && times_us.size() < 200000) {
    auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(size / kSmallBlock)) * kSmallBlock;
    if (pread(file, block.data(), static_cast<size_t>(kSmallBlock), at) != kSmallBlock)
      return Error{Code::kFailed, std::string("read the temporary file: ") + std::strerror(errno)};
    TimePoint after = clock.now();
    times_us.push_back(1e3 * to_ms(after - before));
    before = after;
  }
  return times_us;
}

void summarise(std::vector<double> times_us, StorageSpeed& speed) {
  std::sort(times_us.begin(), times_us.end());
  double total = 0;
  for (double time : times_us) total += time;
  speed.random_reads = static_cast<int64_t>(times_us.size());
  speed.random_read_us = times_us[times_us.size() / 2];
  speed.random_read_p99_us = times_us[times_us.size() * 99 / 100];
  speed.random_reads_per_s = 1e6 * static_cast<double>(times_us.size()) / total;
}

// The second descriptor, for reading: direct if the file system can, else after dropping the file from the cache.
int open_for_reading(int file, StorageSpeed& speed) {
  std::string self = fmt::format("/proc/self/fd/{}", file);
  int direct = open(self.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  speed.direct = direct >= 0;
  if (direct >= 0) return direct;
  speed.indirect_reason = std::string("this file system does not support O_DIRECT: ") + std::strerror(errno);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  return open(self.c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

Result<StorageSpeed> measure_storage(const StorageOptions& options) {
  const Clock& clock = *options.clock;
  StorageSpeed speed;
  speed.folder = options.folder;
  RIDGE_ASSIGN(int64_t size, size_that_fits(options));
  std::string path = options.folder + "/.ridge-storage-XXXXXX";
  const Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return system_error("make a temporary file in", options.folder);
  Block block;
  Result<double> written = write_file(file.number(), size, block, options.time_per_test, clock, speed.file_bytes);
  // The name is needed no longer than this: /proc/self/fd opens the file without it on every local file system.
  const Descriptor reader(open_for_reading(file.number(), speed));
  unlink(path.c_str());
  if (!written) return written.error();
  speed.write_bytes_per_s = *written;
  if (!reader) return system_error("read the temporary file in", options.folder);
  RIDGE_ASSIGN(speed.read_bytes_per_s,
               read_sequentially(reader.number(), speed.file_bytes, block, options.time_per_test, clock));
  RIDGE_ASSIGN(std::vector<double> times,
               read_at_random(reader.number(), speed.file_bytes, block, options.time_per_test, clock));
  summarise(std::move(times), speed);
  return speed;
}

}  // namespace ridge::doctor
