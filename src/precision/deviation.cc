#include "precision/deviation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/element.h"

namespace ridge::precision {

std::string not_finite_text(const Deviation& deviation) {
  if (deviation.not_finite == 0) return "";
  return fmt::format(", {} of {} values are NaN or infinite", deviation.not_finite, deviation.elements);
}

Status DeviationMeter::add(const TensorView& reference, const TensorView& other) {
  const bool comparable = reference.type == other.type || (is_floating(reference.type) && is_floating(other.type));
  const std::vector<double> a = elements(reference);
  const std::vector<double> b = elements(other);
  if (!comparable || reference.shape != other.shape || a.size() != b.size())
    return Error{Code::kFailed,
                 fmt::format("outputs cannot be compared: {} {} ({} bytes) against {} {} ({} bytes)",
                             data_type_name(reference.type), shape_text(reference.shape), reference.data.size(),
                             data_type_name(other.type), shape_text(other.shape), other.data.size())};
  elements_ += static_cast<int64_t>(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    not_finite_ += std::isfinite(a[i]) && std::isfinite(b[i]) ? 0 : 1;
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::isinf(a[i]) && a[i] == b[i]) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      max_abs_ = difference_ = HUGE_VAL;
      continue;
    }
    double difference = std::abs(b[i] - a[i]);
    max_abs_ = std::max(max_abs_, difference);
    difference_ += difference * difference;
    reference_ += a[i] * a[i];
    other_ += b[i] * b[i];
    product_ += a[i] * b[i];
  }
  size_t row =
      reference.shape.empty() || reference.type == DataType::kBytes ? 0 : static_cast<size_t>(reference.shape.back());
  for (size_t start = 0; row > 1 && start + row <= a.size(); start += row) {
    // The place of the largest element; -1: none is, beside NaN.
    auto top = [&](const std::vector<double>& values) {
      auto first = values.begin() + static_cast<std::ptrdiff_t>(start), end = first + static_cast<std::ptrdiff_t>(row);
      return std::any_of(first, end, [](double v) { return std::isnan(v); }) ? -1
                                                                             : std::max_element(first, end) - first;
    };
    ++rows_;
    if (top(a) >= 0 && top(a) == top(b)) ++agreeing_rows_;
  }
  return {};
}

Deviation DeviationMeter::result() const {
  Deviation deviation;
  deviation.max_abs = max_abs_;
  deviation.relative_l2 = std::isinf(difference_) ? HUGE_VAL
                          : reference_ > 0        ? std::sqrt(difference_ / reference_)
                                                  : (difference_ > 0 ? HUGE_VAL : 0);
  double norms = std::sqrt(reference_) * std::sqrt(other_);
  deviation.cosine = norms > 0 ? std::clamp(product_ / norms, -1.0, 1.0) : (difference_ > 0 ? 0 : 1);
  deviation.top1_agreement = rows_ > 0 ? static_cast<double>(agreeing_rows_) / static_cast<double>(rows_) : 1;
  deviation.elements = elements_;
  deviation.not_finite = not_finite_;
  return deviation;
}

}  // namespace ridge::precision
