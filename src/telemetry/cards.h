// How NVIDIA's cards fare, looked at again and again while a server runs, as the metrics that Triton made customary and a few
// of ridge's own. A slow or hanging driver delays nobody: a thread of the sampler asks it, and who wants to know gets the last
// answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/card.h"

namespace prometheus {
struct MetricFamily;
}

namespace ridge::telemetry {

// Absent = the card does not tell.
struct CardSample {
  std::string uuid;
  bool answers = true;                // false: lost, or needs a reset
  std::optional<double> utilization;  // 0…1
  std::optional<double> memory_total_bytes, memory_used_bytes;
  std::optional<double> power_w, power_limit_w;
  std::optional<double> energy_j;  // since the first look
  std::optional<double> temperature_c, clock_hz;
  std::vector<std::string> slowed_by;  // names of gpu/slowdown.h; "idle" is none
};

// `first_energy_mj`: of the counter at the first look, absent then.
CardSample sample_of(const gpu::Card& card, std::optional<int64_t> first_energy_mj);

// Families without a series where there is no card.
std::vector<prometheus::MetricFamily> card_families(const std::vector<CardSample>& cards);

// Thread-safe.
class CardSampler {
 public:
  // Null: there is no card whose library answers.
  static std::unique_ptr<CardSampler> start(std::chrono::milliseconds period = std::chrono::seconds(2));
  ~CardSampler();
  std::vector<CardSample> last() const;  // empty until the first look is done

 private:
  struct Source;
  CardSampler(std::unique_ptr<Source> source, std::chrono::milliseconds period);
  void run(std::chrono::milliseconds period, std::stop_token stop);
  void look();

  std::unique_ptr<Source> source_;                  // used by the thread alone
  std::map<std::string, int64_t> first_energy_mj_;  // likewise; by UUID
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<CardSample> last_;  // guarded by mutex_
  std::jthread thread_;           // last: starts when the rest is there
};

}  // namespace ridge::telemetry
