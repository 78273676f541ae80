#include "predict/batch_curve.h"

#include <fmt/format.h>

#include <charconv>

namespace ridge::predict {
namespace {

constexpr int64_t kLargestBatch = int64_t{1} << 40;  // larger values are typing errors

Result<int64_t> parse_batch(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 1 || value > kLargestBatch)
    return Error{Code::kInvalid,
                 fmt::format("--batch takes a number of at least 1 (8) or a range (1..64), given '{}'", whole)};
  return value;
}

}  // namespace

Result<BatchRange> parse_batch_range(std::string_view text) {
  size_t dots = text.find("..");
  BatchRange range;
  RIDGE_ASSIGN(range.first, parse_batch(text.substr(0, dots), text));
  range.last = range.first;
  if (dots != std::string_view::npos) {
    RIDGE_ASSIGN(range.last, parse_batch(text.substr(dots + 2), text));
  }
  if (range.last < range.first)
    return Error{Code::kInvalid, fmt::format("--batch {}: the range ends before it begins", text)};
  return range;
}

std::vector<int64_t> batches_of(const BatchRange& range) {
  std::vector<int64_t> batches = {range.first};
  for (int64_t power = 1; power < range.last; power *= 2)
    if (power > range.first) batches.push_back(power);
  if (range.last > range.first) batches.push_back(range.last);
  return batches;
}

CurvePoint curve_point(const Forecast& forecast) {
  CurvePoint point;
  point.batch = forecast.batch;
  point.bound_ms = forecast.bound.ms;
  point.limiter = forecast.bound.limiter;
  if (forecast.bound.ms > 0) point.throughput_per_s = 1e3 * static_cast<double>(forecast.batch) / forecast.bound.ms;
  point.memory_bytes = forecast.inference_bytes;
  if (forecast.device_memory_bytes > 0) point.fits = forecast.inference_bytes <= forecast.device_memory_bytes;
  return point;
}

}  // namespace ridge::predict
