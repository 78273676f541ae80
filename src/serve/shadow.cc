#include "serve/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/read_number.h"
#include "base/units.h"
#include "serve/histogram.h"

namespace ridge::serve {
namespace {

constexpr int kMostUnderWay = 64;  // copies of one shadow: what it cannot follow is left out
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
const std::vector<double> kDifferences = {0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, kUnbounded};
const std::vector<double> kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,     0.05,
                                      0.1,    0.25,    0.5,    1,     2.5,    5,     10,   kUnbounded};

float bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// ‖a − b‖ / ‖a‖ of packed values.
template <typename Stored, typename Value>
double distance(std::span<const std::byte> a, std::span<const std::byte> b, Value value) {
  double of_difference = 0, of_first = 0;
  for (size_t at = 0; at + sizeof(Stored) <= a.size(); at += sizeof(Stored)) {
    Stored x, y;
    std::memcpy(&x, a.data() + at, sizeof(Stored));
    std::memcpy(&y, b.data() + at, sizeof(Stored));
    if (std::ranges::equal(a.subspan(at, sizeof(Stored)), b.subspan(at, sizeof(Stored)))) {  // the same bits, NaN too
      const double same = value(x);
      if (std::isfinite(same)) of_first += same * same;
      continue;
    }
    const double first = value(x), second = value(y);
    of_difference += (first - second) * (first - second);
    of_first += first * first;
  }
  if (of_difference == 0) return 0;
  const double relative = std::sqrt(of_difference / of_first);
  return std::isfinite(relative) ? relative : kUnbounded;
}

double difference(const ResponseOutput& a, const ResponseOutput& b) {
  if (a.name != b.name || a.type != b.type || a.shape != b.shape || a.data.size() != b.data.size()) return kUnbounded;
  switch (a.type) {
    case DataType::kFp32: return distance<float>(a.data, b.data, [](float x) { return double{x}; });
    case DataType::kFp64: return distance<double>(a.data, b.data, [](double x) { return x; });
    case DataType::kBf16: return distance<uint16_t>(a.data, b.data, [](uint16_t x) { return double{bf16_value(x)}; });
    default: return std::equal(a.data.begin(), a.data.end(), b.data.begin()) ? 0 : kUnbounded;
  }
}

bool can_be_copied(const InferRequest& request) {
  return request.sequence.id == SequenceId{} &&
         std::none_of(request.inputs.begin(), request.inputs.end(),
                      [](const auto& input) { return input.part.has_value(); }) &&
         std::none_of(request.outputs.begin(), request.outputs.end(),
                      [](const auto& output) { return output.part.has_value() || output.classification > 0; });
}

InferRequest copy_of(const InferRequest& request, int64_t version) {
  InferRequest copy;
  copy.model = request.model;
  copy.version = version;
  copy.inputs = request.inputs;
  copy.outputs = request.outputs;
  copy.body = request.body;
  return copy;
}

}  // namespace

Result<ShadowRoute> parse_shadow_route(const std::string& text) {
  const Error wrong = invalid(fmt::format("--shadow {}: expected MODEL:VERSION or MODEL:VERSION:PERCENT", text));
  ShadowRoute route;
  std::string_view rest = text;
  const size_t first = rest.find(':');
  if (first == 0 || first == std::string_view::npos) return wrong;
  route.model = rest.substr(0, first);
  rest.remove_prefix(first + 1);
  const size_t second = rest.find(':');
  if (!read_number(rest.substr(0, second), route.version) || route.version < 1) return wrong;
  if (second == std::string_view::npos) return route;
  double percent = 0;
  if (!read_number(rest.substr(second + 1), percent) || !(percent > 0 && percent <= 100)) return wrong;
  route.share = percent / 100;
  return route;
}

double difference(const InferResponse& answered, const InferResponse& shadow) {
  if (answered.outputs.size() != shadow.outputs.size()) return kUnbounded;
  double largest = 0;
  for (size_t i = 0; i < answered.outputs.size(); ++i)
    largest = std::max(largest, difference(answered.outputs[i], shadow.outputs[i]));
  return largest;
}

struct Shadows::Copy {
  size_t route = 0;  // into routes_
  InferRequest request;
  InferResponse answered;  // the client's
  TimePoint begun;
  Nanoseconds took{0};
};

Shadows::Shadows(std::vector<ShadowRoute> routes, Clock& clock, Find find) : clock_(clock), find_(std::move(find)) {
  for (ShadowRoute& shadow : routes) {
    Route& route = routes_.emplace_back();
    route.counts.model = shadow.model;
    route.counts.version = shadow.version;
    route.counts.difference = empty_histogram(kDifferences);
    route.counts.answered_time = route.counts.shadow_time = empty_histogram(kSeconds);
    route.shadow = std::move(shadow);
  }
}

InferDone Shadows::beside(const InferRequest& request, const Servable& answering, InferDone done) {
  std::shared_ptr<Copy> copy;
  {
    MutexLock lock(mutex_);
    const auto found = std::find_if(routes_.begin(), routes_.end(),
                                    [&](const Route& route) { return route.shadow.model == request.model; });
    if (found == routes_.end() || found->shadow.version == answering.settings().version) return done;
    Route& route = *found;
    // Of n requests floor(n · share) are copied.
    const auto copied = [&](uint64_t requests) {
      return std::floor(static_cast<double>(requests) * route.shadow.share);
    };
    ++route.requests;
    if (copied(route.requests) == copied(route.requests - 1)) return done;
    if (route.under_way >= kMostUnderWay || !can_be_copied(request)) {
      ++route.counts.skipped;
      return done;
    }
    copy = std::make_shared<Copy>();
    ++route.under_way;
    copy->route = static_cast<size_t>(found - routes_.begin());
    copy->request = copy_of(request, route.shadow.version);
  }
  copy->begun = clock_.now();
  return [self = shared_from_this(), copy, done = std::move(done)](Result<InferResponse> answer) {
    const bool answered = answer.ok();
    if (answered) {
      copy->answered = *answer;  // shares the tensors
      copy->took = self->clock_.now() - copy->begun;
    }
    done(std::move(answer));
    if (answered) return self->send(copy);
    MutexLock lock(self->mutex_);
    --self->routes_[copy->route].under_way;
  };
}

void Shadows::send(const std::shared_ptr<Copy>& copy) {
  const Result<VersionPtr> version = find_(copy->request.model, copy->request.version);
  if (!version) return compare(*copy, version.error());
  const Result<TensorModel*> tensors = tensor_model(**version);
  if (!tensors) return compare(*copy, tensors.error());
  copy->begun = clock_.now();
  (*tensors)->infer(std::move(copy->request), [self = shared_from_this(), copy](const Result<InferResponse>& shadow) {
    self->compare(*copy, shadow);
  });
}

void Shadows::compare(const Copy& copy, const Result<InferResponse>& shadow) {
  const Nanoseconds took = clock_.now() - copy.begun;
  const double found = shadow ? difference(copy.answered, *shadow) : 0;
  MutexLock lock(mutex_);
  Route& route = routes_[copy.route];
  --route.under_way;
  ShadowStatistics& counts = route.counts;
  if (!shadow) {
    // Not loaded, or its queue is full: it says nothing of its answers.
    ++(shadow.error().code == Code::kUnavailable || shadow.error().code == Code::kNotFound ? counts.skipped
                                                                                           : counts.failed);
    return;
  }
  ++counts.compared;
  add(counts.difference, found);
  add(counts.answered_time, to_seconds(copy.took));
  add(counts.shadow_time, to_seconds(took));
  route.largest = std::max(route.largest, found);
}

std::vector<ShadowStatistics> Shadows::statistics() const {
  MutexLock lock(mutex_);
  std::vector<ShadowStatistics> all;
  for (const Route& route : routes_) {
    ShadowStatistics& counts = all.emplace_back(route.counts);
    for (Histogram* histogram : {&counts.difference, &counts.answered_time, &counts.shadow_time})
      accumulate_counts(*histogram);
  }
  return all;
}

void Shadows::log_results() const {
  MutexLock lock(mutex_);
  for (const Route& route : routes_) {
    const ShadowStatistics& counts = route.counts;
    if (counts.compared + counts.failed == 0) continue;
    const auto mean = [&](const Histogram& times) {
      return counts.compared == 0 ? 0 : times.sum_s / static_cast<double>(counts.compared);
    };
    log::info(
        "shadow '{}' version {}: {} compared, largest difference {:.3g}, mean {} beside {}; {} failed, {} left out",
        counts.model, counts.version, counted(static_cast<int64_t>(counts.compared), "answer"), route.largest,
        format_ms(mean(counts.shadow_time) * 1e3), format_ms(mean(counts.answered_time) * 1e3), counts.failed,
        counts.skipped);
  }
}

}  // namespace ridge::serve
