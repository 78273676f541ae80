#include "limits/accelerator/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/units.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kMostStarts = 1000;  // queues of drivers are not endless

KernelVariant transferring(const std::shared_ptr<Link>& link, gpu::Way way, gpu::HostMemory memory) {
  const double bytes = static_cast<double>(link->bytes()) * (way == gpu::Way::kBoth ? 2 : 1);
  KernelVariant variant;
  variant.conditions = fmt::format("copies of {}", format_bytes(static_cast<double>(link->bytes())));
  variant.run = one_by_one([link, way, memory, bytes](int64_t repeats) -> Result<Burst> {
    Burst burst{bytes * static_cast<double>(repeats)};
    for (int64_t i = 0; i < repeats; ++i) {
      RIDGE_ASSIGN(double seconds, link->seconds(way, memory));
      burst.seconds += seconds;
    }
    return burst;
  });
  return variant;
}

}  // namespace

int64_t link_bytes(const Facts& facts) {
  const int64_t wanted = runs_on_cpu(facts) ? std::max(32 * kMebibyte, 2 * facts.last_cache_bytes) : 256 * kMebibyte;
  return std::min(wanted, facts.memory_bytes / 8);
}

std::vector<MetricOf<LinkRow>> link_metrics(Accelerator& accelerator) {
  const int64_t bytes = link_bytes(accelerator.facts());
  Result<std::unique_ptr<Link>> opened = accelerator.link(static_cast<size_t>(bytes));
  std::shared_ptr<Link> link;
  if (opened) link = std::move(*opened);
  std::vector<MetricOf<LinkRow>> metrics;
  for (gpu::HostMemory memory : {gpu::HostMemory::kPageable, gpu::HostMemory::kPinned}) {
    const Status right = link ? link->check(memory) : Status(opened.error());
    for (gpu::Way way : {gpu::Way::kToDevice, gpu::Way::kToHost, gpu::Way::kBoth}) {
      MetricOf<LinkRow> transfer{{way, memory, bytes, {}}, {}};
      transfer.metric.sustained = true;
      if (right)
        transfer.metric.variants.push_back(transferring(link, way, memory));
      else
        transfer.metric.reason = right.error().message;
      metrics.push_back(std::move(transfer));
    }
  }
  return metrics;
}

std::vector<MetricOf<StartRow>> start_metrics(Accelerator& accelerator) {
  Result<std::vector<Starting>> startings = accelerator.startings();
  if (!startings) {
    MetricOf<StartRow> start{{"kernel, waited for", "one empty kernel queued and waited for", {}}, {}};
    start.metric.reason = startings.error().message;
    return {start};
  }
  std::vector<MetricOf<StartRow>> metrics;
  for (Starting& starting : *startings) {
    MetricOf<StartRow> start{{starting.what, starting.meaning, {}}, {}};
    KernelVariant variant;
    variant.conditions = starting.meaning;
    variant.most_repeats = kMostStarts / starting.at_once;
    variant.run =
        one_by_one([seconds_of = starting.seconds, at_once = starting.at_once](int64_t repeats) -> Result<Burst> {
          const int64_t starts = repeats * at_once;
          RIDGE_ASSIGN(double seconds, seconds_of(starts));
          return Burst{static_cast<double>(starts), seconds};
        });
    start.metric.variants.push_back(std::move(variant));
    metrics.push_back(std::move(start));
  }
  return metrics;
}

}  // namespace ridge::limits::accelerator
