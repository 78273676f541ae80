#include "limits/accelerator/wire_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace ridge::limits::accelerator {
namespace {

using gpu::nccl::Collective;

constexpr int64_t kPeriod = 1'000'003;       // values; a prime, so that no shift by a power of two goes unseen
constexpr int64_t kLook = int64_t{1} << 18;  // values of one check

std::vector<int64_t> places_to_look(int64_t count) {
  if (count <= 4 * kLook) {
    std::vector<int64_t> all;
    for (int64_t at = 0; at < count; at += kLook) all.push_back(at);
    return all;
  }
  return {0, count / 2, count - kLook};
}

Status look(const gpu::nccl::NcclGroup& group, Collective collective, size_t gpu, int64_t at, int64_t count,
            int64_t received) {
  std::vector<float> values(static_cast<size_t>(std::min(kLook, received - at)));
  RIDGE_TRY(group.read(gpu, values, static_cast<size_t>(at) * sizeof(float)));
  for (size_t i = 0; i < values.size(); ++i) {
    const float right = arrived_value(collective, group.size(), gpu, at + static_cast<int64_t>(i), count);
    if (values[i] == right) continue;
    return Error{
        Code::kFailed,
        fmt::format("{} of {}: value {} on GPU {} of the group is {}, and {} is right: what the GPUs "
                    "exchange is changed on the way; look at `ridge doctor --area gpu` and the kernel log",
                    gpu::nccl::collective_name(collective), format_bytes(static_cast<double>(count) * sizeof(float)),
                    at + static_cast<int64_t>(i), gpu, values[i], right)};
  }
  return {};
}

}  // namespace

float sent_value(size_t gpu, int64_t at) {
  const auto number = static_cast<int64_t>(gpu);
  return static_cast<float>((at % kPeriod * (number % 16 + 1) + number) % 17 - 8);
}

float arrived_value(Collective collective, size_t gpus, size_t gpu, int64_t at, int64_t count) {
  const int64_t part = count / static_cast<int64_t>(gpus);
  if (collective == Collective::kBroadcast) return sent_value(0, at);
  if (collective == Collective::kAllGather) return sent_value(static_cast<size_t>(at / part), at % part);
  if (collective == Collective::kReduceScatter) at += part * static_cast<int64_t>(gpu);
  float sum = 0;
  for (size_t i = 0; i < gpus; ++i) sum += sent_value(i, at);
  return sum;
}

Status send_pattern(gpu::nccl::NcclGroup& group) {
  std::vector<float> values(kPeriod);
  for (size_t gpu = 0; gpu < group.size(); ++gpu) {
    for (int64_t at = 0; at < kPeriod; ++at) values[static_cast<size_t>(at)] = sent_value(gpu, at);
    RIDGE_TRY(group.fill(gpu, values, group.buffer_bytes()));
  }
  return {};
}

Status check_arrived(gpu::nccl::NcclGroup& group, Collective collective, size_t bytes) {
  for (size_t gpu = 0; gpu < group.size(); ++gpu) RIDGE_TRY(group.spoil(gpu));
  Result<double> done = group.run(collective, bytes, 1);
  if (!done) return done.error();
  const auto count = static_cast<int64_t>(bytes / sizeof(float));
  const int64_t received =
      collective == Collective::kReduceScatter ? count / static_cast<int64_t>(group.size()) : count;
  for (size_t gpu = 0; gpu < group.size(); ++gpu)
    for (int64_t at : places_to_look(received)) RIDGE_TRY(look(group, collective, gpu, at, count, received));
  return {};
}

}  // namespace ridge::limits::accelerator
