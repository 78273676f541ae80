#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "limits/accelerator/collectives.h"

namespace ridge::limits::accelerator {
namespace {

// Smaller operations are latency-bound; at 512 MB the rate still grows (nccl-tests#149).
constexpr int64_t kJudgedFrom = int64_t{16} << 20;

// The usual rate, and where to look when it is lower.
std::string judged(const CollectiveAnswer& answer, const GroupLinks& links) {
  std::string text = fmt::format(" NVIDIA's developers count on {}, here {}: {}.", answer.usual.said,
                                 format_bandwidth(answer.usual.bytes_per_s), normality_name(*answer.normality));
  if (*answer.normality == Normality::kNormal) return text;
  text +=
      " See `ridge doctor --area gpu` for links that are down, slow or faulty, and NCCL_DEBUG=INFO for the way that "
      "NCCL takes.";
  if (links.parts > 1)
    text += " GPUs that may not reach each other's memory (nvidia-smi topo -p2p r) go through the host's.";
  return text;
}

std::string sentence_for(const CollectiveAnswer& answer, const std::optional<GroupLinks>& links) {
  const std::string name(gpu::nccl::collective_name(answer.collective));
  if (!answer.bus_bytes_per_s) return name + ": not measured.";
  const std::string rate =
      fmt::format("{}: {} for the smallest size; {} of bus bandwidth at {}", name, format_ms(1e3 * *answer.latency_s),
                  format_bandwidth(*answer.bus_bytes_per_s), format_bytes(static_cast<double>(answer.bytes)));
  if (!answer.limit_bytes_per_s) return rate + "; what the links between the GPUs carry is not known.";
  return fmt::format("{}, {} of the {} that {} allows.{}", rate,
                     format_percent(100 * *answer.bus_bytes_per_s / *answer.limit_bytes_per_s),
                     format_bandwidth(*answer.limit_bytes_per_s), links->text,
                     answer.normality ? judged(answer, *links)
                                      : fmt::format(" Links are judged by operations of {} and more.",
                                                    format_bytes(static_cast<double>(kJudgedFrom))));
}

CollectiveAnswer answer_for(gpu::nccl::Collective collective, std::span<const CollectiveRow> rows,
                            const std::optional<GroupLinks>& links, size_t gpus) {
  CollectiveAnswer answer;
  answer.collective = collective;
  int64_t smallest = INT64_MAX, largest = 0;
  for (const CollectiveRow& row : rows) {
    if (row.collective != collective || !row.result.typical) continue;
    largest = std::max(largest, row.bytes);
    const double bus = bus_factor(collective, gpus) * *row.result.typical;
    if (bus > answer.bus_bytes_per_s.value_or(0)) {
      answer.bus_bytes_per_s = bus;
      answer.bytes = row.bytes;
    }
    if (row.bytes >= smallest) continue;
    smallest = row.bytes;
    answer.latency_s = static_cast<double>(row.bytes) / *row.result.typical;
  }
  Result<double> limit = links ? bus_limit(*links, collective) : Error{};
  if (limit) {
    answer.limit_bytes_per_s = *limit;
    answer.usual = usual_bus_bandwidth(*links, collective);
    if (answer.bus_bytes_per_s && largest >= kJudgedFrom)
      answer.normality = normality_of(*answer.bus_bytes_per_s, answer.usual.bytes_per_s);
  }
  answer.sentence = sentence_for(answer, links);
  return answer;
}

}  // namespace

std::vector<CollectiveAnswer> answers_of(std::span<const CollectiveRow> rows, const std::optional<GroupLinks>& links,
                                         size_t gpus) {
  std::vector<CollectiveAnswer> answers;
  for (gpu::nccl::Collective collective : gpu::nccl::kCollectives)
    answers.push_back(answer_for(collective, rows, links, gpus));
  return answers;
}

}  // namespace ridge::limits::accelerator
