#include "telemetry/cards.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/stoppable_sleep.h"
#include "gpu/nvml/nvml.h"
#include "gpu/slowdown.h"

namespace ridge::telemetry {
namespace {

std::optional<double> scaled(const gpu::Reading<int64_t>& reading, double divisor) {
  if (!reading) return std::nullopt;
  return static_cast<double>(*reading) / divisor;
}

// A family with one series per card that tells the value.
struct PerCard {
  const char* name;
  const char* help;
  MetricType type;
  std::optional<double> CardSample::*value;
};

// The first six: names, meaning and units as Triton's (its docs/user_guide/metrics.md).
constexpr PerCard kCardFamilies[] = {
    {"nv_gpu_utilization", "Share of the last second in which the GPU computed, 0 to 1", MetricType::kGauge,
     &CardSample::utilization},
    {"nv_gpu_memory_total_bytes", "Memory of the GPU, bytes", MetricType::kGauge, &CardSample::memory_total_bytes},
    {"nv_gpu_memory_used_bytes", "Memory of the GPU that is in use, bytes", MetricType::kGauge,
     &CardSample::memory_used_bytes},
    {"nv_gpu_power_usage", "Power that the GPU draws, watts", MetricType::kGauge, &CardSample::power_w},
    {"nv_gpu_power_limit", "Power limit of the GPU in force, watts", MetricType::kGauge, &CardSample::power_limit_w},
    {"nv_energy_consumption", "Energy that the GPU took since the server started, joules", MetricType::kCounter,
     &CardSample::energy_j},
    {"ridge_gpu_temperature_celsius", "Temperature of the GPU, degrees Celsius", MetricType::kGauge,
     &CardSample::temperature_c},
    {"ridge_gpu_clock_hertz", "Clock of the GPU's multiprocessors, hertz", MetricType::kGauge, &CardSample::clock_hz},
};

Series& add_series(MetricFamily& family, const std::string& uuid, double value) {
  return family.series.emplace_back(Series{{{"gpu_uuid", uuid}}, value});
}

constexpr std::chrono::seconds kPatience(1);  // with the driver, at the end

// Looks at all cards, and keeps in mind what a lost card no longer tells.
class CardEyes {
 public:
  explicit CardEyes(gpu::nvml::Nvml library) : library_(std::move(library)) {}
  // `before`: what was seen last. If the library no longer answers, its cards do not.
  std::vector<CardSample> look(const std::vector<CardSample>& before) {
    std::vector<CardSample> samples;
    Result<int> count = library_.count();
    if (!count)
      for (const CardSample& known : before) samples.push_back(unanswered(known));
    for (int i = 0; count && i < *count; ++i) {
      gpu::Card card = library_.vitals(i);
      if (card.uuid) uuids_[i] = *card.uuid;
      if (!card.uuid && uuids_.contains(i)) card.uuid = uuids_[i];
      if (card.energy_mj) {
        int64_t& first = first_energy_mj_.try_emplace(i, *card.energy_mj).first->second;
        first = std::min(first, *card.energy_mj);  // the card was reset, and its counter begins anew
      }
      samples.push_back(
          sample_of(card, first_energy_mj_.contains(i) ? std::optional(first_energy_mj_[i]) : std::nullopt));
    }
    return samples;
  }

 private:
  gpu::nvml::Nvml library_;
  std::map<int, std::string> uuids_;  // by index, as the following
  std::map<int, int64_t> first_energy_mj_;
};

}  // namespace

CardSample sample_of(const gpu::Card& card, std::optional<int64_t> first_energy_mj) {
  CardSample sample;
  sample.uuid = card.uuid ? *card.uuid : std::to_string(card.index);
  sample.answers = card.failure.empty();
  sample.utilization = scaled(card.utilization_percent, 100);
  sample.memory_total_bytes = scaled(card.memory_total_bytes, 1);
  sample.memory_used_bytes = scaled(card.memory_used_bytes, 1);
  sample.power_w = scaled(card.power_mw, 1000);
  sample.power_limit_w = scaled(card.power_limit_mw, 1000);
  if (card.energy_mj)
    sample.energy_j = static_cast<double>(*card.energy_mj - first_energy_mj.value_or(*card.energy_mj)) / 1000;
  sample.temperature_c = scaled(card.temperature_c, 1);
  sample.clock_hz = scaled(card.sm_clock_mhz, 1e-6);
  if (card.slowdown_bits)
    for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*card.slowdown_bits)))
      if (slowdown.name != "idle") sample.slowed_by.emplace_back(slowdown.name);
  return sample;
}

std::vector<MetricFamily> card_families(const std::vector<CardSample>& cards) {
  std::vector<MetricFamily> families;
  for (const PerCard& row : kCardFamilies) {
    MetricFamily& family = families.emplace_back(MetricFamily{row.name, row.help, row.type});
    for (const CardSample& card : cards)
      if (card.*(row.value)) add_series(family, card.uuid, *(card.*(row.value)));
  }
  MetricFamily up{"ridge_gpu_up", "1: the GPU answers; 0: it is lost or needs a reset", MetricType::kGauge};
  MetricFamily slowed{"ridge_gpu_slowdown", "1 for each reason why the GPU runs below its highest clock",
                      MetricType::kGauge};
  for (const CardSample& card : cards) {
    add_series(up, card.uuid, card.answers ? 1 : 0);
    for (const std::string& reason : card.slowed_by)
      add_series(slowed, card.uuid, 1).labels.emplace_back("reason", reason);
  }
  families.push_back(std::move(up));
  families.push_back(std::move(slowed));
  return families;
}

CardSample unanswered(const CardSample& sample) {
  CardSample silent;
  silent.uuid = sample.uuid;
  silent.answers = false;
  return silent;
}

struct CardSampler::Shared {
  const std::chrono::milliseconds period;
  Mutex mutex;
  std::vector<CardSample> last RIDGE_GUARDED_BY(mutex);
  TimePoint heard RIDGE_GUARDED_BY(mutex){};  // when the last look ended

  explicit Shared(std::chrono::milliseconds every) : period(every) {}
  // The library is opened and asked without the lock.
  Status run(const std::stop_token& stop) {
    RIDGE_ASSIGN(gpu::nvml::Nvml library, gpu::nvml::Nvml::open());
    CardEyes eyes(std::move(library));
    std::vector<CardSample> samples;
    while (!stop.stop_requested()) {
      samples = eyes.look(samples);
      {
        MutexLock lock(mutex);
        last = samples;
        heard = SteadyClock::now();
      }
      sleep_until(SteadyClock::now() + period, stop);
    }
    return {};
  }
};

CardSampler::CardSampler(std::chrono::milliseconds period)
    : shared_(std::make_shared<Shared>(period)),
      thread_([shared = shared_](const std::stop_token& stop) { return shared->run(stop); }) {}

CardSampler::~CardSampler() {
  thread_.request_stop();
  if (!thread_.outcome(kPatience)) log::warning("the NVIDIA driver does not answer: left behind");
}

std::vector<CardSample> CardSampler::last() const {
  MutexLock lock(shared_->mutex);
  if (SteadyClock::now() - shared_->heard <= 3 * shared_->period) return shared_->last;
  std::vector<CardSample> silent;
  for (const CardSample& card : shared_->last) silent.push_back(unanswered(card));
  return silent;
}

}  // namespace ridge::telemetry
