#include "limits/accelerator/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int kGraphKernels = 100;
constexpr int64_t kMostStarts = 1000;  // driver queues are finite

// One direction over one kind of host memory.
struct Lane {
  gpu::Workspace* workspace = nullptr;
  gpu::BufferNumber from, to;
  size_t queue = 0;
  gpu::Step step() const { return {gpu::Copy{from, to}, queue}; }
};

// Copies in both directions use two queues; for pageable memory, which drivers copy in the calling thread, two
// workspaces and two threads.
struct Link {
  std::unique_ptr<gpu::Workspace> first, second;
  int64_t bytes = 0;
  std::map<gpu::MemoryKind, Lane> to_device, to_host;

  Status make(const gpu::Device& device);
  Result<double> seconds(Way way, gpu::MemoryKind memory);
  Result<double> both_in_two_threads(const Lane& there, const Lane& back) const;
  Status check(gpu::MemoryKind memory) const;
  Status check(const Lane& lane) const;
};

Status Link::make(const gpu::Device& device) {
  RIDGE_ASSIGN(first, device.open_workspace(gpu::Timing::kByHost));
  RIDGE_ASSIGN(second, device.open_workspace(gpu::Timing::kByHost));
  const auto size = static_cast<size_t>(bytes);
  RIDGE_ASSIGN(const gpu::BufferNumber there, first->add_bytes(size));
  for (gpu::MemoryKind memory : {gpu::MemoryKind::kHost, gpu::MemoryKind::kPinned}) {
    gpu::Workspace& home = memory == gpu::MemoryKind::kHost ? *second : *first;
    RIDGE_ASSIGN(const gpu::BufferNumber sent, first->add_bytes(size, memory));
    RIDGE_ASSIGN(const gpu::BufferNumber back, home.add_bytes(size));
    RIDGE_ASSIGN(const gpu::BufferNumber got, home.add_bytes(size, memory));
    to_device[memory] = {first.get(), sent, there};
    to_host[memory] = {&home, back, got, 1};
  }
  return {};
}

Result<double> Link::seconds(Way way, gpu::MemoryKind memory) {
  const Lane &there = to_device.at(memory), &back = to_host.at(memory);
  if (way == Way::kBoth && there.workspace != back.workspace) return both_in_two_threads(there, back);
  std::vector<gpu::Step> steps;
  if (way != Way::kToHost) steps.push_back(there.step());
  if (way != Way::kToDevice) steps.push_back(back.step());
  RIDGE_ASSIGN(const gpu::LaunchTime time, (way == Way::kToHost ? back : there).workspace->run(steps));
  return time.whole_seconds;
}

Result<double> Link::both_in_two_threads(const Lane& there, const Lane& back) const {
  const gpu::Step forth = there.step(), home = back.step();
  const TimePoint begin = SteadyClock::now();
  Result<gpu::LaunchTime> returned = gpu::LaunchTime{};
  {
    const std::jthread other([&] { returned = back.workspace->run({&home, 1}); });
    RIDGE_TRY(there.workspace->run({&forth, 1}));
  }
  RIDGE_TRY(returned);
  return to_seconds(SteadyClock::now() - begin);
}

// Bytes of a long pattern from `at` on; two source buffers hold different data.
void fill(std::span<std::byte> piece, size_t at, gpu::BufferNumber from) {
  for (size_t i = 0; i < piece.size(); ++i)
    piece[i] = static_cast<std::byte>(((at + i) * 31 + (at + i) / 4096 + 7 * from.value) & 0xFF);
}

Status Link::check(const Lane& lane) const {
  const auto size = static_cast<size_t>(bytes);
  std::vector<std::byte> sent(static_cast<size_t>(kMebibyte)), got(sent.size());
  for (size_t at = 0; at < size; at += sent.size()) {
    const std::span<std::byte> piece = std::span(sent).first(std::min(sent.size(), size - at));
    fill(piece, at, lane.from);
    RIDGE_TRY(lane.workspace->write_bytes(lane.from, piece, at));
  }
  const gpu::Step step = lane.step();
  RIDGE_TRY(lane.workspace->run({&step, 1}));
  for (size_t at = 0; at < size; at += sent.size()) {
    const std::span<std::byte> piece = std::span(got).first(std::min(got.size(), size - at));
    RIDGE_TRY(lane.workspace->read_bytes(lane.to, piece, at));
    fill(std::span(sent).first(piece.size()), at, lane.from);
    if (!std::ranges::equal(piece, std::span(sent).first(piece.size())))
      return Error{Code::kFailed,
                   fmt::format("what was copied changed on its way, within 1 MiB from byte {} of {}", at, size)};
  }
  return {};
}

Status Link::check(gpu::MemoryKind memory) const {
  for (const Lane* lane : {&to_device.at(memory), &to_host.at(memory)})
    if (Status right = check(*lane); !right)
      return wrap(right.error(), fmt::format("{} memory", host_memory_name(memory)));
  return {};
}

KernelVariant transferring(const std::shared_ptr<Link>& link, Way way, gpu::MemoryKind memory) {
  const double bytes = static_cast<double>(link->bytes) * (way == Way::kBoth ? 2 : 1);
  KernelVariant variant;
  variant.conditions = fmt::format("copies of {}", format_bytes(static_cast<double>(link->bytes)));
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

// A way of starting empty kernels.
struct LaunchPattern {
  std::string what, meaning;
  std::vector<gpu::Step> steps;
  int64_t starts = 1;  // of kernels, by the steps
  bool each_waited_for = false;
};

Result<std::vector<LaunchPattern>> startings_in(gpu::Workspace& workspace, gpu::Dialect dialect) {
  RIDGE_ASSIGN(const gpu::BufferNumber untouched, workspace.add_bytes(sizeof(int32_t)));
  const gpu::Launch nothing{"nothing", {1}, {1}, {untouched}};
  std::vector<LaunchPattern> all = {
      {"kernel, waited for",
       "one empty kernel queued and waited for: latency as the host sees it",
       {{nothing}},
       1,
       true},
      {"kernel, queued", "empty kernels queued one after another, then waited for: time per kernel", {{nothing}}}};
  if (dialect == gpu::Dialect::kOpenCl) return all;
  RIDGE_TRY(workspace.run({&nothing, 1}));  // as recordings require
  RIDGE_ASSIGN(const gpu::Recording one, workspace.record({&nothing, 1}));
  RIDGE_ASSIGN(const gpu::Recording many, workspace.record({&nothing, 1}, kGraphKernels));
  all.push_back({"kernel, other stream",
                 "empty kernels on two streams, each waiting for the one before by an event: time per kernel",
                 {{nothing, 0}, {gpu::WaitFor{0}, 1}, {nothing, 1}, {gpu::WaitFor{1}, 0}},
                 2});
  all.push_back({"graph, waited for", "a graph of one empty kernel launched and waited for", {{one}}, 1, true});
  all.push_back({"graph node",
                 fmt::format("graphs of {} empty kernels in a row, then waited for: time per kernel", kGraphKernels),
                 {{many}},
                 kGraphKernels});
  return all;
}

KernelVariant starting_by(const std::shared_ptr<gpu::Workspace>& workspace, const LaunchPattern& starting) {
  KernelVariant variant;
  variant.conditions = starting.meaning;
  variant.most_repeats = kMostStarts / starting.starts;
  variant.run = one_by_one([workspace, starting](int64_t repeats) -> Result<Burst> {
    Burst burst{static_cast<double>(repeats * starting.starts)};
    const int64_t together = starting.each_waited_for ? 1 : repeats;
    for (int64_t done = 0; done < repeats; done += together) {
      RIDGE_ASSIGN(const gpu::LaunchTime time, workspace->run(starting.steps, static_cast<int>(together)));
      burst.seconds += time.whole_seconds;
    }
    return burst;
  });
  return variant;
}

Result<std::vector<MetricOf<StartRow>>> starts_on(const gpu::Device& device) {
  RIDGE_ASSIGN(const std::shared_ptr<gpu::Workspace> workspace,
               gpu::workspace_with(device, kernel_source("", {"launch"}), gpu::Timing::kByHost));
  RIDGE_ASSIGN(const std::vector<LaunchPattern> startings, startings_in(*workspace, device.facts.dialect));
  std::vector<MetricOf<StartRow>> metrics;
  for (const LaunchPattern& starting : startings) {
    MetricOf<StartRow>& start = metrics.emplace_back(MetricOf<StartRow>{{starting.what, starting.meaning, {}}, {}});
    start.metric.variants.push_back(starting_by(workspace, starting));
  }
  return metrics;
}

int64_t link_bytes(const gpu::DeviceFacts& facts) {
  const int64_t wanted =
      gpu::runs_on_cpu(facts) ? std::max(32 * kMebibyte, 2 * facts.last_cache_bytes) : 256 * kMebibyte;
  return std::min(wanted, facts.memory_bytes / 8);
}

}  // namespace

std::vector<MetricOf<LinkRow>> link_metrics(const gpu::Device& device) {
  const int64_t bytes = link_bytes(device.facts);
  auto link = std::make_shared<Link>();
  link->bytes = bytes;
  const Status made = link->make(device);
  std::vector<MetricOf<LinkRow>> metrics;
  for (gpu::MemoryKind memory : {gpu::MemoryKind::kHost, gpu::MemoryKind::kPinned}) {
    const Status right = made ? link->check(memory) : made;
    for (Way way : {Way::kToDevice, Way::kToHost, Way::kBoth}) {
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

std::vector<MetricOf<StartRow>> start_metrics(const gpu::Device& device) {
  Result<std::vector<MetricOf<StartRow>>> metrics = starts_on(device);
  if (metrics) return std::move(*metrics);
  MetricOf<StartRow> start{{"kernel, waited for", "one empty kernel queued and waited for", {}}, {}};
  start.metric.reason = metrics.error().message;
  return {start};
}

}  // namespace ridge::limits::accelerator
