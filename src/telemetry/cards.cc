#include "telemetry/cards.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/log.h"
#include "gpu/nvml.h"
#include "gpu/slowdown.h"

namespace ridge::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

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
    {"nv_gpu_utilization", "Share of the last second in which the GPU computed, 0 to 1", MetricType::Gauge,
     &CardSample::utilization},
    {"nv_gpu_memory_total_bytes", "Memory of the GPU, bytes", MetricType::Gauge, &CardSample::memory_total_bytes},
    {"nv_gpu_memory_used_bytes", "Memory of the GPU that is in use, bytes", MetricType::Gauge,
     &CardSample::memory_used_bytes},
    {"nv_gpu_power_usage", "Power that the GPU draws, watts", MetricType::Gauge, &CardSample::power_w},
    {"nv_gpu_power_limit", "Power limit of the GPU in force, watts", MetricType::Gauge, &CardSample::power_limit_w},
    {"nv_energy_consumption", "Energy that the GPU took since the server started, joules", MetricType::Counter,
     &CardSample::energy_j},
    {"ridge_gpu_temperature_celsius", "Temperature of the GPU, degrees Celsius", MetricType::Gauge,
     &CardSample::temperature_c},
    {"ridge_gpu_clock_hertz", "Clock of the GPU's multiprocessors, hertz", MetricType::Gauge, &CardSample::clock_hz},
};

ClientMetric& add_series(MetricFamily& family, const std::string& uuid, double value) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label.push_back({"gpu_uuid", uuid});
  if (family.type == MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
  return metric;
}

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
    MetricFamily& family = families.emplace_back(MetricFamily{row.name, row.help, row.type, {}});
    for (const CardSample& card : cards)
      if (card.*(row.value)) add_series(family, card.uuid, *(card.*(row.value)));
  }
  MetricFamily up{"ridge_gpu_up", "1: the GPU answers; 0: it is lost or needs a reset", MetricType::Gauge, {}};
  MetricFamily slowed{
      "ridge_gpu_slowdown", "1 for each reason why the GPU runs below its highest clock", MetricType::Gauge, {}};
  for (const CardSample& card : cards) {
    add_series(up, card.uuid, card.answers ? 1 : 0);
    for (const std::string& reason : card.slowed_by)
      add_series(slowed, card.uuid, 1).label.push_back({"reason", reason});
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

struct CardSampler::State {
  const std::chrono::milliseconds period;
  // Of the thread alone.
  std::map<int, std::string> uuids;                // by index: a card that is lost no longer tells its own
  std::map<std::string, int64_t> first_energy_mj;  // by UUID

  std::mutex mutex;
  std::condition_variable_any wake, ended_now;
  std::vector<CardSample> last;  // guarded by mutex, as the following
  TimePoint heard{};             // when the last look ended
  bool ended = false;

  explicit State(std::chrono::milliseconds every) : period(every) {}
  void run(const std::stop_token& stop);
  void watch(const std::stop_token& stop);
  void look(const gpu::Nvml& library);
  CardSample sample(gpu::Card card);
};

void CardSampler::State::run(const std::stop_token& stop) {
  watch(stop);  // the library is closed in it: that may hang too
  std::lock_guard lock(mutex);
  ended = true;
  ended_now.notify_all();
}

void CardSampler::State::watch(const std::stop_token& stop) {
  Result<gpu::Nvml> library = gpu::Nvml::open();
  Result<int> count = library ? library->count() : Result<int>(library.error());
  while (count && *count > 0 && !stop.stop_requested()) {
    look(*library);
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, period, [] { return false; });
  }
}

// The library is asked without the lock.
void CardSampler::State::look(const gpu::Nvml& library) {
  std::vector<CardSample> samples;
  Result<int> count = library.count();
  for (int i = 0; count && i < *count; ++i) samples.push_back(sample(library.vitals(i)));
  std::lock_guard lock(mutex);
  heard = Clock::now();
  if (!count)
    for (const CardSample& known : last) samples.push_back(unanswered(known));
  last = std::move(samples);
}

CardSample CardSampler::State::sample(gpu::Card card) {
  if (card.uuid)
    uuids[card.index] = *card.uuid;
  else if (auto known = uuids.find(card.index); known != uuids.end())
    card.uuid = known->second;
  if (!card.uuid || !card.energy_mj) return sample_of(card, std::nullopt);
  int64_t& first = first_energy_mj.try_emplace(*card.uuid, *card.energy_mj).first->second;
  first = std::min(first, *card.energy_mj);  // the card was reset, and its counter begins anew
  return sample_of(card, first);
}

CardSampler::CardSampler(std::chrono::milliseconds period)
    : state_(std::make_shared<State>(period)),
      thread_([state = state_](const std::stop_token& stop) { state->run(stop); }) {}

CardSampler::~CardSampler() {
  thread_.request_stop();
  std::unique_lock lock(state_->mutex);
  if (state_->ended_now.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; })) return;
  log::warning("the NVIDIA driver does not answer; nobody waits for it");
  thread_.detach();
}

std::vector<CardSample> CardSampler::last() const {
  std::lock_guard lock(state_->mutex);
  if (Clock::now() - state_->heard <= 3 * state_->period) return state_->last;
  std::vector<CardSample> silent;
  for (const CardSample& card : state_->last) silent.push_back(unanswered(card));
  return silent;
}

}  // namespace ridge::telemetry
